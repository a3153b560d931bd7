import { scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { toBase62 } from '../../core/util/ids.ts'

const deriveBytes = promisify<string, string, number, Buffer>(scrypt)

/**
 * Returns the API key of a request with an `Idempotency-Key`: always the same one, so that a repeated request
 * returns it again although it is not stored. Nobody can compute it without the admin key, and scrypt makes
 * it useless for guessing the admin key. See docs/decisions/event-log.md, "Idempotency keys are stored with
 * the events".
 */
export async function deriveApiKey(
  adminKey: string,
  idempotencyKey: string,
  userId: number,
): Promise<string> {
  const bytes = await deriveBytes(adminKey, `signalbox API key:${userId}:${idempotencyKey}`, 64)
  return `tr_${toBase62(bytes).slice(0, 43)}`
}
