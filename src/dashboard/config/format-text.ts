/** @module dashboard/config/format-text  Words for the formats of JSON Schema. */
const FORMATS: Readonly<Record<string, string>> = {
  uri: 'a URL, such as https://example.net/path',
  'date-time': 'a date with a time, such as 2026-01-31T09:00:00Z',
  date: 'a date, such as 2026-01-31',
  time: 'a time, such as 09:00:00Z',
  email: 'an e-mail address',
  hostname: 'a host name',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  uuid: 'a UUID',
}

/** `email` becomes `an e-mail address`. */
export const formatText = (format: string): string => FORMATS[format] ?? `text in the format ${format}`
