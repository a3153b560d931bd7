import { scrypt } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { GatewayError } from '../../core/contract/index.ts'
import { toBase62 } from '../../core/util/ids.ts'
import { apiKeyOf } from './api-key.ts'

const deriveBytes = promisify<string, string, number, Buffer>(scrypt)

/**
 * Returns the key that an operator's request with an `Idempotency-Key` issues: always the same one, so that a
 * repeated request returns it again although it is not stored. `subject` is who the key is for. Nobody can
 * compute it without the key of the operator, and scrypt makes it useless for guessing that key. See
 * docs/decisions/event-log.md, "Idempotency keys are stored with the events".
 */
export async function deriveRepeatedKey(
  prefix: 'tr' | 'op',
  headers: IncomingHttpHeaders,
  subject: string,
): Promise<string> {
  const operatorKey = apiKeyOf({ headers })
  // Without a key, anybody could derive the new one.
  if (operatorKey === undefined) throw sessionCannotRepeatError()
  const salt = `signalbox API key:${subject}:${headers['idempotency-key']}`
  return `${prefix}_${toBase62(await deriveBytes(operatorKey, salt, 64)).slice(0, 43)}`
}

function sessionCannotRepeatError(): GatewayError {
  const message =
    'A request that creates a key cannot have an Idempotency-Key with a session. Remove the header, or ' +
    'send the key of the operator.'
  return new GatewayError('invalid_value', message, { param: 'idempotency-key' })
}
