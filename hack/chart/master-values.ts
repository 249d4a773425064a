/** @module chart/master-values  The values of the master's name and certificate. */
import { closed, text, word } from './schema.ts'

export const environment = closed({
  name: text('Name of this installation, such as production; the dashboard shows it. "" = none.', '', {
    pattern: '^([^\\s\\p{C}]([^\\p{C}]{0,30}[^\\s\\p{C}])?)?$',
  }),
  color: word(
    ['gray', 'red', 'orange', 'yellow', 'green', 'blue', 'purple'],
    'gray',
    'Color of the name: gray, red, orange, yellow, green, blue or purple.',
  ),
})

export const tls = closed({
  existingSecret: text(
    'Secret with tls.crt and tls.key for the name of the Service; "" = HTTP. Requires trust, and exposure.type none.',
    '',
  ),
})
