//! How long the steps of learning take.

/// A clock that is read between steps. wasm32-unknown-unknown has none: there no step seems to take time.
pub(super) struct Clock {
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    last: std::time::Instant,
}

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
impl Clock {
    pub(super) fn start() -> Self {
        Clock { last: std::time::Instant::now() }
    }

    /// Seconds since the last call.
    pub(super) fn seconds(&mut self) -> f64 {
        std::mem::replace(&mut self.last, std::time::Instant::now()).elapsed().as_secs_f64()
    }
}

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
impl Clock {
    pub(super) fn start() -> Self {
        Clock {}
    }

    pub(super) fn seconds(&mut self) -> f64 {
        0.0
    }
}
