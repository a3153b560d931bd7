import { EventLogUnavailableError } from '../contract/event-log.ts'

const SHAPE =
  /^(?:esdb|kurrentdb)(?<discover>\+discover)?:\/\/(?<user>[^:@/?#]+:[^:@/?#]+@)?(?<hosts>[^@/?#]+)\/?(?:\?(?<options>[^?#]*))?$/

/** The options that the client knows, as it compares them: without regard to case, `_` and `-`. */
const OPTIONS = new Set([
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
 * Checks a connection string of EventStoreDB or KurrentDB, and gives it in the form that the client takes.
 * Throws `LogUnavailable` with a sentence that quotes nothing of it but option names: the string may hold a password.
 * The client prints the whole string when it meets an option that it does not know, so such a string never gets there.
 */
export function readConnectionString(text: string): string {
  const parts = SHAPE.exec(text.trim())?.groups
  if (!parts)
    throw invalid(
      'it must look like esdb://user:password@host:2113?tls=true, or esdb+discover:// or kurrentdb://, ' +
        'with : / ? # @ in user and password percent-encoded',
    )
  const options = (parts.options ?? '').split('&').filter(Boolean)
  for (const option of options) checkOption(option)
  return `esdb${parts.discover ?? ''}://${parts.user ?? ''}${parts.hosts}${options.length > 0 ? '?' : ''}${options.join('&')}`
}

function checkOption(option: string): void {
  const [key = '', value = ''] = option.split('=')
  const name = key.toLowerCase().replace(/[_-]/g, '')
  if (!OPTIONS.has(name) || value === '') throw invalid(`it has an option that is not known: ${key}`)
  if (name === 'tlsverifycert' && value.toLowerCase() !== 'true')
    throw invalid('certificates are always verified; give the one of your authority with tlsCAFile')
}

/** For use where the client's own message could quote the string. */
export function invalid(reason: string): EventLogUnavailableError {
  return new EventLogUnavailableError(`the event log's connection string is not valid: ${reason}`)
}
