import { GatewayError } from '../../core/contract/errors.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { ReplyEvent, ReplyPart } from '../../core/contract/reply.ts'
import { readObject, readObjects, readString } from '../read-fields.ts'
import { readBlock, say } from './read-block.ts'
import { readFailureRecord } from './read-failure.ts'
import { readUsage } from './read-usage.ts'
import { readStopReason } from './stop-reason.ts'

/** Reads a message (reference 5.6). Throws a `GatewayError` when the body is anything else. */
export function readReply(body: unknown): ReplyEvent {
  const message = readObject(body)
  if (message.type === 'error') throw readFailureRecord(message)
  if (!Array.isArray(message.content)) {
    throw new GatewayError('provider_error', 'The provider sent a reply that is no message.')
  }
  return {
    parts: [
      { type: 'start', id: readString(message.id), model: readString(message.model) },
      ...readBlocks(readObjects(message.content)),
      ...readExplanation(message),
      { type: 'usage', usage: readUsage(readObject(message.usage)) },
      { type: 'finish', reason: readStopReason(message.stop_reason) },
    ],
  }
}

/** Why the model refused, from a message or a `message_delta`, where it says so. */
export function readExplanation({ stop_details }: JsonObject): readonly ReplyPart[] {
  return say('refusal', readObject(stop_details).explanation)
}

function readBlocks(blocks: readonly JsonObject[]): readonly ReplyPart[] {
  let calls = 0
  return blocks.flatMap((block) => (block.type === 'tool_use' ? readCall(block, calls++) : readBlock(block)))
}

function readCall({ id, name, input }: JsonObject, index: number): readonly ReplyPart[] {
  return [
    { type: 'tool-start', index, id: readString(id), name: readString(name) },
    { type: 'tool-json', index, json: JSON.stringify(input ?? {}) },
  ]
}
