/** Who asks. Your own sign-in goes here: the id must come from a session that your server checked, never from the request itself. */
export function userOf(_request: Request): string {
  return "demo";
}
