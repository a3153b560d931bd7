import {
  isJsonObject,
  type JsonObject,
  type Message,
  ReplyEvent,
  type ReplyPart,
} from '../../core/contract/index.ts'
import { parseItems } from '../../providers/shared/responses-format/input-items.ts'
import type { InputItem } from '../../providers/shared/responses-format/request-schema.ts'
import type { StoredRecord } from '../ledger/index.ts'
import type { Responses } from '../responses/index.ts'
import { isFinishedResponse } from '../responses/index.ts'
import type { RepliedRequest } from './job.ts'

const RESPONSES_ENDPOINT = '/v1/responses'

/** Stored responses that are read for one message to the thread, and their characters. */
const MAX_REPLIES = 50
const MAX_REPLY_CHARS = 1_000_000

/**
 * Returns the output of the stored responses of the first of the requests; null for what is not stored. See
 * docs/decisions/what-if.md, "Replies are those that are stored".
 */
export async function readReplies(
  requests: readonly RepliedRequest[],
  findResponse: Responses['find'],
): Promise<readonly (readonly JsonObject[] | null)[]> {
  const replies: (readonly JsonObject[] | null)[] = []
  let chars = 0
  for (const { requestId, userId } of requests.slice(0, MAX_REPLIES)) {
    // The key of a response is that of its request.
    const stored = await findResponse(requestId.replace(/^req_/, ''), userId)
    const isUsable = stored !== undefined && isFinishedResponse(stored)
    const { output } = isUsable ? stored.response : { output: null }
    const items = Array.isArray(output) ? output.filter(isJsonObject) : null
    replies.push(items)
    chars += items === null ? 0 : JSON.stringify(items).length
    if (chars > MAX_REPLY_CHARS) break
  }
  return replies
}

/** Responses are stored as their clients got them. */
export function isReplyMasked({ rules }: StoredRecord): boolean {
  return rules.some(
    ({ scope, action, outcome }) => scope === 'response' && action === 'mask' && outcome === 'applied',
  )
}

/** Reads the replies of recorded requests. Only responses of `/v1/responses` are stored. */
export async function findRecordedReplies(
  records: readonly StoredRecord[],
  read: (requests: readonly RepliedRequest[]) => Promise<readonly (readonly JsonObject[] | null)[]>,
): Promise<ReadonlyMap<number, ReplyEvent>> {
  const asked = records.filter(({ endpoint, status }) => endpoint === RESPONSES_ENDPOINT && status < 400)
  const found = new Map<number, ReplyEvent>()
  for (let start = 0; start < asked.length; ) {
    const rest = asked.slice(start)
    const replies = await read(rest.map(({ requestId, userId }) => ({ requestId, userId })))
    if (replies.length === 0) break
    replies.forEach((items, index) => {
      const record = rest[index]
      if (items !== null && record !== undefined) found.set(record.id, toReplyEvent(items))
    })
    start += replies.length
  }
  return found
}

/** Returns output items as the model's reply, which the firewall inspects. */
function toReplyEvent(items: readonly JsonObject[]): ReplyEvent {
  const messages = parseItems(items as readonly (JsonObject & InputItem)[], 'output')
  let calls = 0
  const parts = messages.flatMap((message) => {
    const replied = toParts(message, calls)
    calls += message.tool_calls?.length ?? 0
    return replied
  })
  return new ReplyEvent(parts)
}

function toParts({ content, reasoning_content, tool_calls }: Message, firstCall: number): ReplyPart[] {
  const parts: ReplyPart[] = []
  if (typeof reasoning_content === 'string') parts.push({ type: 'reasoning', text: reasoning_content })
  for (const text of textsOf(content)) parts.push({ type: 'text', text })
  tool_calls?.forEach((call, position) => {
    const index = firstCall + position
    const { name, arguments: json } = call.function
    parts.push({ type: 'tool-start', index, id: call.id, name }, { type: 'tool-json', index, json })
  })
  return parts
}

function textsOf(content: Message['content']): readonly string[] {
  if (typeof content === 'string') return [content]
  return (content ?? []).flatMap((part) => {
    const text = 'text' in part ? part.text : 'refusal' in part ? part.refusal : undefined
    return typeof text === 'string' ? [text] : []
  })
}
