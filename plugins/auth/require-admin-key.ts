import { timingSafeEqual } from 'node:crypto'
import { GatewayError, type GatewayMiddleware } from '../../core/contract/index.ts'
import { hashKey, readBearer } from './api-key.ts'

/** Lets the bearer of the admin key through and answers 401 to everybody else. */
export function requireAdminKey(adminKey: string): GatewayMiddleware {
  const expected = Buffer.from(hashKey(adminKey))
  return async (ctx, next) => {
    const given = readBearer(ctx.headers.authorization)
    if (given === undefined || !timingSafeEqual(Buffer.from(hashKey(given)), expected)) {
      throw new GatewayError('invalid_api_key', 'Send the admin key as "Authorization: Bearer <ADMIN_KEY>".')
    }
    await next()
  }
}
