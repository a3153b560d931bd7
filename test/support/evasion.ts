/** A published-style pattern that needs more than RE2 has, and a text that it matches. */
export interface EvadablePattern {
  readonly name: string
  readonly pattern: string
  readonly secret: string
}

export const EVADABLE_PATTERNS: readonly EvadablePattern[] = [
  {
    name: 'US social security number',
    pattern: '/\\b(?!000|666|9\\d{2})\\d{3}-(?!00)\\d{2}-(?!0000)\\d{4}\\b/',
    secret: '123-45-6789',
  },
  { name: 'card number', pattern: '(?<!\\d)(?:\\d[ -]?){13,16}(?!\\d)', secret: '4111 1111 1111 1111' },
  {
    name: 'Visa card',
    pattern: '/(?<![\\d.])4\\d{3}([ -]?)\\d{4}\\1\\d{4}\\1\\d{4}(?![\\d.])/',
    secret: '4111-1111-1111-1111',
  },
  {
    name: 'IBAN',
    pattern: '/(?<![A-Z0-9])[A-Z]{2}\\d{2}(?:[ ]?[A-Z0-9]{4}){3,7}(?:[ ]?[A-Z0-9]{1,3})?(?![A-Z0-9])/',
    secret: 'DE89 3704 0044 0532 0130 00',
  },
  {
    name: 'e-mail with possessive quantifiers',
    pattern: '/[a-z0-9._%+-]++@(?:[a-z0-9-]++\\.)++[a-z]{2,}+/i',
    secret: 'ada@example.com',
  },
  { name: 'doubled word', pattern: '/\\b(\\w{4,})\\s+\\1\\b/i', secret: 'Wednesday wednesday' },
  {
    name: 'AWS access key',
    pattern: '(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])',
    secret: 'AKIAIOSFODNN7EXAMPLE',
  },
  {
    name: 'AWS secret key',
    pattern: '/(?<![A-Za-z0-9\\/+=])[A-Za-z0-9\\/+=]{40}(?![A-Za-z0-9\\/+=])/',
    secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  },
  {
    name: 'JSON web token',
    pattern: '(?<![\\w-])eyJ[\\w-]{8,}+\\.eyJ[\\w-]{8,}+\\.[\\w-]{8,}+',
    secret: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U',
  },
  {
    name: 'private key',
    pattern: '/-----BEGIN ((?:RSA |EC )?PRIVATE KEY)-----(?:(?!-----).)+-----END \\1-----/s',
    secret: '-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----',
  },
  {
    name: 'phone number',
    pattern: '/(?<!\\d)(?:\\+1[-. ]?)?\\(?[2-9]\\d{2}\\)?[-. ]?[2-9]\\d{2}[-. ]?\\d{4}(?!\\d)/',
    secret: '(415) 555-2671',
  },
  {
    name: 'password assignment',
    pattern: '/(?<=password[:=])\\s*+(["\']?)[^\\s"\']{8,}+\\1/i',
    secret: 'password="hunter2hunter2"',
  },
  {
    name: 'IP address that is not private',
    pattern:
      '/\\b(?!10\\.|192\\.168\\.|127\\.)(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)(?:\\.(?!$)|\\b)){4}(?![.\\d])/',
    secret: '203.0.113.77',
  },
]

const SENTENCES = [
  'The quick brown fox jumps over the lazy dog while 12 monkeys watch from afar. ',
  'On 2024-05-17 at 10:45 the build finished in 3.25 seconds with exit code 0. ',
  'Call (555) for help, or see https://example.org/a/b?c=1&d=2 for the docs. ',
  'Version 10.2.33 of the package lists 4,096 items; see table 7-3 on page 128. ',
  'Order 000-12-3456 was refunded; ticket 666-11-2222 is a placeholder. ',
]

/** Prose with numbers, times and near misses, of at least `length` characters. */
export function prose(length: number): string {
  const paragraph = SENTENCES.join('')
  return paragraph.repeat(Math.ceil(length / paragraph.length))
}
