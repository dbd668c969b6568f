//! Cuts text for counters that only estimate.

/// A prefix that `count` says has at most `max_tokens`, nearly the longest such one, ending at a character boundary.
///
/// It grows a prefix until it no longer fits and then halves the distance, so only as much of a long text is read as
/// is needed. `count` need not grow with the text: what is returned was itself counted.
pub(super) fn longest_fitting_prefix(text: &str, max_tokens: u32, count: impl Fn(&str) -> u32) -> &str {
    let fits = |length: usize| count(&text[..length]) <= max_tokens;
    let mut fitting = 0;
    // Four bytes a token is about what English has.
    let mut failing = text.floor_char_boundary((max_tokens as usize).saturating_mul(4));
    while fits(failing) {
        fitting = failing;
        if failing == text.len() {
            return text;
        }
        failing = text.ceil_char_boundary(failing.saturating_mul(2).max(64).min(text.len()));
    }
    while failing - fitting > 1 + fitting / 256 {
        let middle = text.floor_char_boundary(fitting + (failing - fitting) / 2);
        if middle == fitting {
            break;
        }
        if fits(middle) {
            fitting = middle;
        } else {
            failing = middle;
        }
    }
    &text[..fitting]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_longest_that_fits() {
        let by_character = |text: &str| text.chars().count() as u32;
        assert_eq!(longest_fitting_prefix("héllo wörld", 3, by_character), "hél");
        assert_eq!(longest_fitting_prefix("héllo", 5, by_character), "héllo");
        assert_eq!(longest_fitting_prefix("héllo", 0, by_character), "");
        assert_eq!(longest_fitting_prefix("", 0, by_character), "");
        assert_eq!(longest_fitting_prefix("中文中文", 1, |text| text.len() as u32), "");
        let long = "ab ".repeat(10_000);
        assert!((980..=1_000).contains(&longest_fitting_prefix(&long, 1_000, by_character).len()));
    }
}
