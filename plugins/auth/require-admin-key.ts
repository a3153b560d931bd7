import { timingSafeEqual } from 'node:crypto'
import { GatewayError, type GatewayMiddleware } from '../../core/contract/index.ts'
import { hashKey, readBearer } from './api-key.ts'
import type { FailedKeys } from './failed-keys.ts'

/**
 * Lets the bearer of the admin key through and answers 401 to everybody else. Once too many keys of an address failed, it answers 429 to
 * the right one as well: people choose this key, so guesses must end in nothing.
 */
export function requireAdminKey(adminKey: string, failedKeys: FailedKeys): GatewayMiddleware {
  const expected = Buffer.from(hashKey(adminKey))
  return async (ctx, next) => {
    const given = readBearer(ctx.headers.authorization)
    if (given === undefined) throw wrongKey()
    if (!timingSafeEqual(Buffer.from(hashKey(given)), expected))
      throw await failedKeys.note('admin', ctx.req, wrongKey())
    const refusal = failedKeys.refusalFor('admin', ctx.req)
    if (refusal !== undefined) throw refusal
    await next()
  }
}

function wrongKey(): GatewayError {
  return new GatewayError('invalid_api_key', 'Send the admin key as "Authorization: Bearer <ADMIN_KEY>".')
}
