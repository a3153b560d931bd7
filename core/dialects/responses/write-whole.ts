import { type Exchange, type FinishReason, GatewayError, type JsonObject } from '../../contract/index.ts'
import type { ResponsesCall } from './call.ts'
import type { PersistResponse } from './keep.ts'
import { createOutput } from './output.ts'
import { endOfResponse, openResponse, statusOfLastItem } from './response.ts'
import { shapeResponse } from './shape.ts'

/** The whole response, once it is durable, in the form that the caller reads. */
export async function writeResponse(
  exchange: Exchange,
  call: ResponsesCall,
  keep: PersistResponse,
): Promise<JsonObject> {
  if (exchange.reply?.type !== 'whole')
    throw new GatewayError('internal_error', 'There is no reply to write.')
  const output = createOutput(call.seed)
  let finish: FinishReason = 'stop'
  for (const part of exchange.reply.event.parts) {
    if (part.type === 'finish') finish = part.reason
    output.add(part)
  }
  output.close(statusOfLastItem(finish))
  const end = endOfResponse(finish, exchange, output.items())
  const response: JsonObject = Object.assign(openResponse(call, exchange), end)
  return shapeResponse(await keep(response), call.form)
}
