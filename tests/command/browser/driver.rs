//! A browser without a screen, driven by chromedriver as [the standard](https://www.w3.org/TR/webdriver2/) says.

use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::prelude::{Engine as _, BASE64_STANDARD};
use serde_json::{json, Value};
use tempfile::TempDir;

/// A browser and the session in it.
pub struct Browser {
    child: Child,
    session: String,
    /// It writes to it until it ends.
    _out: BufReader<ChildStdout>,
    _profile: TempDir,
}

impl Browser {
    /// Starts one; `None`, and a skip that is noted, where there is none.
    pub fn start(test: &str) -> Option<Self> {
        let started =
            Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = match started {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                slurm_testcluster::skip(test, "chromium and chromium-driver are not installed");
                return None;
            }
            started => started.unwrap(),
        };
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        let port: u16 = loop {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0, "chromedriver has ended");
            if let Some((_, port)) = line.trim_end().trim_end_matches('.').split_once("successfully on port ")
            {
                break port.parse().unwrap();
            }
        };
        let profile = tempfile::tempdir().unwrap();
        let arguments = json!([
            "--headless",
            // The tests run as root.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            format!("--user-data-dir={}", profile.path().display()),
            "--window-size=1280,900",
        ]);
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let mut browser =
            Self { child, session: format!("http://127.0.0.1:{port}/session"), _out: out, _profile: profile };
        let session = browser.call("", &capabilities);
        browser.session = format!("{}/{}", browser.session, session["sessionId"].as_str().unwrap());
        Some(browser)
    }

    fn call(&self, command: &str, body: &Value) -> Value {
        let request =
            minreq::post(format!("{}{command}", self.session)).with_timeout(120).with_json(body).unwrap();
        let answer = request.send().unwrap();
        let value: Value = answer.json().unwrap();
        assert_eq!(answer.status_code, 200, "{command} {body}: {value}");
        value["value"].clone()
    }

    /// Opens a file, and waits until all of it is there: on a busy machine the call may return while the page before is still shown.
    pub fn open(&self, file: &Path) {
        let url = format!("file://{}", file.display());
        self.call("/url", &json!({"url": url}));
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let seen = self.eval("return [document.URL, document.readyState]");
            if seen == json!([url, "complete"]) {
                return;
            }
            assert!(Instant::now() < end, "{url} is not there after a minute, but {seen}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// What a script returns.
    pub fn eval(&self, script: &str) -> Value {
        self.call("/execute/sync", &json!({"script": script, "args": []}))
    }

    /// The same, where it is true or false.
    pub fn is(&self, expression: &str) -> bool {
        self.eval(&format!("return !!({expression})")).as_bool().unwrap()
    }

    /// Presses a key and lets it go.
    pub fn press(&self, key: &str) {
        self.call(
            "/actions",
            &json!({"actions": [{"type": "key", "id": "keys", "actions": [
                {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}
            ]}]}),
        );
    }

    /// A command of the browser's own protocol.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.call("/goog/cdp/execute", &json!({"cmd": command, "params": parameters}))
    }

    /// So many pixels, as a phone or a desk has them.
    pub fn size(&self, width: u32, is_phone: bool) {
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            &json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": is_phone}),
        );
    }

    /// `light` or `dark`.
    pub fn scheme(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.devtools("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// What is seen now, as a PNG file.
    pub fn screenshot(&self) -> Vec<u8> {
        let shot = self.devtools("Page.captureScreenshot", &json!({"format": "png"}));
        BASE64_STANDARD.decode(shot["data"].as_str().unwrap()).unwrap()
    }

    /// What the browser has to say, such as violations of the policy.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.call("/se/log", &json!({"type": "browser"}));
        log.as_array().unwrap().iter().map(|entry| entry["message"].to_string()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends the browser as well.
        let _ = minreq::delete(&self.session).with_timeout(20).send();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Keys as the standard calls them.
pub mod key {
    pub const TAB: &str = "\u{e004}";
    pub const ENTER: &str = "\u{e007}";
    pub const SPACE: &str = " ";
}
