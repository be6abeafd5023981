//! What lies where a wrong layout looks: not rubbish, but another live record of the same kind, or another text.

use crate::lists;
use crate::memory::{allocate, block, Arena, Owner};

/// Something like what a pointer leads to.
pub fn of(pointer: *mut u8) -> *mut u8 {
    if pointer.is_null() {
        return pointer;
    }
    let Some(block) = block(pointer) else {
        // A list: another one, which is empty.
        return lists::new(None);
    };
    let decoy = allocate(Arena::Common, block.size, Owner::Host, &block.kind, "a decoy");
    // SAFETY: two live blocks of that size.
    unsafe { std::ptr::copy_nonoverlapping(pointer, decoy, block.size) };
    decoy
}
