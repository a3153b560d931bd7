import type { ReplyingExchange } from '../../core/contract/index.ts'
import { AddedFields } from '../../core/dialects/signalbox-fields.ts'
import { StoredReply } from '../../core/pipeline/usage-recorder.ts'

export { cacheAction } from './options.ts'

/** Notes on a request to which the cache applies whether a stored reply answers it. */
export function noteLookup(exchange: ReplyingExchange, isHit: boolean): 'hit' | 'miss' {
  const cache = isHit ? 'hit' : 'miss'
  AddedFields.set(exchange, { ...AddedFields.of(exchange), cache })
  if (isHit) StoredReply.set(exchange, true)
  return cache
}
