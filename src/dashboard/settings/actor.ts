/** @module dashboard/settings/actor  Builds the actor name under which changes appear in the config history (D39). */

/** Keeps printable ASCII only, since the actor is sent in an HTTP header (D39). At most 100 characters. */
export const actorOf = (name: string): string => {
  const plain = name
    .replaceAll(/[^ -~]/g, '')
    .trim()
    .slice(0, 100)
  return plain === '' ? 'dashboard' : `dashboard:${plain}`
}
