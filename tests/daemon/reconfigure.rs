//! reconfigure
