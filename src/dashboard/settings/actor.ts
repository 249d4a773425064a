/** @module dashboard/settings/actor  Whose changes these are, in the history of a config (D39). */

/** Printable ASCII, as the header that carries it takes no more (D39). */
export const actorOf = (name: string): string => {
  const plain = name
    .replaceAll(/[^ -~]/g, '')
    .trim()
    .slice(0, 100)
  return plain === '' ? 'dashboard' : `dashboard:${plain}`
}
