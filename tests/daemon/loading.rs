//! loading
