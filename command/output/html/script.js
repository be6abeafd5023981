"use strict";
// Sorts, folds and searches tables. Without it, all rows are there in the order of the answer.
for (const table of document.querySelectorAll("table.live")) {
  const body = table.tBodies[0];
  const controls = document.getElementById(table.id + "-controls");
  const status = controls.querySelector("[role=status]");
  const part = (name) => controls.querySelector("." + name);
  // An invisible root, so that a flat table is a tree of one level.
  const root = { kids: [], open: true, level: -1 };
  const all = [];
  let last = root;
  for (const row of body.rows) {
    const level = Number(row.dataset.level || 0);
    const fold = row.querySelector(".fold");
    while (last.level >= level) last = last.above;
    const node = { row, level, fold, above: last, kids: [], at: all.length };
    node.open = !fold || fold.getAttribute("aria-expanded") === "true";
    node.text = [...row.cells].filter((cell) => !cell.classList.contains("n")).map((cell) => cell.textContent).join(" ").toLowerCase();
    last.kids.push(node);
    all.push(node);
    last = node;
  }
  let order = (one, other) => one.at - other.at;
  let isFlat = false;

  const value = (node, column, isNumber) => {
    const cell = node.row.cells[column];
    const text = cell.dataset.v ?? cell.textContent;
    if (!isNumber) return text.toLowerCase();
    const number = parseFloat(text);
    return Number.isNaN(number) ? null : number;
  };
  const walk = (node, visit) => {
    for (const kid of node.kids) {
      visit(kid);
      walk(kid, visit);
    }
  };
  const place = () => {
    const rows = new DocumentFragment();
    if (isFlat) {
      all.slice().sort(order).forEach((node) => rows.append(node.row));
    } else {
      root.kids.sort(order);
      walk(root, (node) => {
        node.kids.sort(order);
        rows.append(node.row);
      });
    }
    body.append(rows);
  };
  const show = () => {
    const wanted = part("search").value.trim().toLowerCase();
    let found = 0;
    for (const node of all.toReversed ? all.toReversed() : all.slice().reverse()) {
      node.matches = !wanted || node.text.includes(wanted);
      found += node.matches ? 1 : 0;
      node.holds = node.matches || !isFlat && node.kids.some((kid) => kid.holds);
    }
    for (const node of all) {
      node.isSeen = isFlat || wanted ? node.holds : node.above === root || node.above.open && node.above.isSeen;
      node.row.hidden = !node.isSeen;
    }
    return wanted ? `${found} of ${all.length} rows match.` : "";
  };
  const open = (node, isOpen) => {
    if (!node.fold) return;
    node.open = isOpen;
    node.fold.setAttribute("aria-expanded", String(isOpen));
  };

  table.tHead.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const head = button.closest("th");
    const isNumber = head.classList.contains("n");
    // Large numbers are what is looked for first.
    const was = head.getAttribute("aria-sort");
    const isUp = was === "none" ? !isNumber : was === "descending";
    for (const other of table.tHead.rows[0].cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
    const column = head.cellIndex;
    const keys = new Map(all.map((node) => [node, value(node, column, isNumber)]));
    order = (one, other) => {
      const [left, right] = [keys.get(one), keys.get(other)];
      if (left === right) return one.at - other.at;
      // What has no value comes last.
      if (left === null || right === null) return left === null ? 1 : -1;
      return (left < right ? -1 : 1) * (isUp ? 1 : -1);
    };
    place();
    status.textContent = `Sorted by ${button.textContent}, ${isUp ? "ascending" : "descending"}.`;
  });
  body.addEventListener("click", (event) => {
    const fold = event.target.closest(".fold");
    const node = fold && all.find((one) => one.fold === fold);
    if (!node) return;
    open(node, !node.open);
    show();
  });
  part("search").addEventListener("input", () => {
    status.textContent = show();
  });
  for (const [name, isOpen] of [["open", true], ["close", false]]) {
    part(name)?.addEventListener("click", () => {
      all.forEach((node) => open(node, isOpen));
      show();
      status.textContent = isOpen ? "All levels are shown." : "Only the first level is shown.";
    });
  }
  part("flat")?.addEventListener("change", (event) => {
    isFlat = event.target.checked;
    table.classList.toggle("flat", isFlat);
    place();
    show();
  });
}
