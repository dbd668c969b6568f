//! Memory that is given back holds nothing: what was erased is not to be found in what is free, which WebAssembly never
//! returns to the browser and nobody may write to for hours.
//!
//! It costs a write for every byte that is freed, and growing a block always moves it: both run at memory's speed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;

/// The system's allocator, zeroing what is freed.
struct Zeroing;

#[global_allocator]
static ALLOCATOR: Zeroing = Zeroing;

// Sound as the system's allocator is: every block comes from it and goes back to it with the layout that it has there,
// and only bytes inside a block are written, before it is given back.
unsafe impl GlobalAlloc for Zeroing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe {
            block.write_bytes(0, layout.size());
            // As if somebody looked at the zeroes, so that they are written.
            System.dealloc(black_box(block), layout);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        unsafe {
            if new_size <= layout.size() {
                // The system's shrinks where it stands.
                block.add(new_size).write_bytes(0, layout.size() - new_size);
                return System.realloc(black_box(block), layout, new_size);
            }
            // The system's would leave a copy behind where it has to move the block.
            let moved = System.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(block, layout.size());
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

/// Bytes of the stack that are cleared: half of it, and more than any call was seen to use.
const CLEARED_STACK_BYTES: usize = 512 * 1024;

/// Overwrites what calls that have returned left on the stack. To be called from near its beginning.
#[inline(never)]
pub(super) fn clear_stack() {
    let zeroes = [0_u8; CLEARED_STACK_BYTES];
    black_box(&zeroes);
}
