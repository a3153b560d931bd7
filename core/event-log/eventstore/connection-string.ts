import { EventLogUnavailableError } from '../../contract/event-log.ts'

const CONNECTION_STRING = new RegExp(
  [
    /^(?:esdb|kurrentdb)(?<discover>\+discover)?:\/\//,
    /(?<user>[^:@/?#]+:[^:@/?#]+@)?/,
    /(?<hosts>[^@/?#]+)\/?/,
    /(?:\?(?<options>[^?#]*))?$/,
  ]
    .map(({ source }) => source)
    .join(''),
)

/** The client's options, in the form in which it compares them: lower case, without `_` and `-`. */
const KNOWN_OPTIONS = new Set([
  'connectionname',
  'defaultdeadline',
  'discoveryinterval',
  'gossiptimeout',
  'keepaliveinterval',
  'keepalivetimeout',
  'maxdiscoverattempts',
  'nodepreference',
  'throwonappendfailure',
  'tls',
  'tlscafile',
  'tlsverifycert',
  'usercertfile',
  'userkeyfile',
])

/**
 * Validates a connection string of EventStoreDB or KurrentDB and returns it in the form that the client
 * accepts. Throws `EventLogUnavailableError`; the message contains no part of the string except option names,
 * because the string may contain a password. Unknown options must be rejected here: the client would print
 * the whole string.
 */
export function parseConnectionString(text: string): string {
  const parts = CONNECTION_STRING.exec(text.trim())?.groups
  if (!parts)
    throw invalidConnectionStringError(
      'expected esdb://user:password@host:2113?tls=true, or the same with esdb+discover:// or ' +
        'kurrentdb://; percent-encode : / ? # @ in the user name and password',
    )
  const options = (parts.options ?? '')
    .split('&')
    .filter(Boolean)
    // It would make the client return failed appends as results.
    .filter((option) => checkOption(option) !== 'throwonappendfailure')
  const query = options.length > 0 ? `?${options.join('&')}` : ''
  // With +discover, the client uses the first host only. Without it, it asks all of them for the cluster.
  const discover = parts.hosts?.includes(',') ? '' : (parts.discover ?? '')
  return `esdb${discover}://${parts.user ?? ''}${parts.hosts}${query}`
}

/** Returns the normalized name of an option. */
function checkOption(option: string): string {
  const [key = '', value = ''] = option.split('=')
  const name = normalizeOption(key)
  if (!KNOWN_OPTIONS.has(name)) throw invalidConnectionStringError(`unknown option ${key}`)
  if (value === '') throw invalidConnectionStringError(`option ${key} has no value`)
  if (name === 'tlsverifycert' && value.toLowerCase() !== 'true')
    throw invalidConnectionStringError(
      'certificate verification cannot be disabled; set tlsCAFile to the certificate of your authority',
    )
  return name
}

export function invalidConnectionStringError(reason: string): EventLogUnavailableError {
  return new EventLogUnavailableError(`the event log connection string is not valid: ${reason}`)
}

function normalizeOption(key: string): string {
  return key.toLowerCase().replace(/[_-]/g, '')
}

/**
 * A server that stops responding counts as away after one interval and one timeout (milliseconds), and a
 * node that does not answer to gossip is skipped after a second. The client's defaults are 10 s each, and
 * 5 s.
 */
const DEFAULT_OPTIONS = { keepAliveInterval: '1200', keepAliveTimeout: '1500', gossipTimeout: '1' } as const

/** Adds the gateway's defaults for options that a valid connection string does not set. */
export function withDefaultOptions(connectionString: string): string {
  const [base = '', query = ''] = connectionString.split('?')
  const options = query.split('&').filter(Boolean)
  const names = new Set(options.map((option) => normalizeOption(option.split('=')[0] ?? '')))
  for (const [key, value] of Object.entries(DEFAULT_OPTIONS))
    if (!names.has(normalizeOption(key))) options.push(`${key}=${value}`)
  return `${base}?${options.join('&')}`
}
