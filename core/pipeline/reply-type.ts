import { type MaybePromise, type Reply, ReplyEvent } from '../contract/index.ts'

/** Returns the reply as a whole one or as a stream. */
export function toReplyType(reply: Reply, type: Reply['type']): MaybePromise<Reply> {
  if (reply.type === type) return reply
  return reply.type === 'whole' ? { type: 'stream', batches: yieldOnce(reply.event) } : collect(reply.batches)
}

/** The provider's own record, which is that of a whole reply, is left out. */
async function* yieldOnce(event: ReplyEvent): AsyncIterable<readonly ReplyEvent[]> {
  yield [event.withParts(event.parts)]
}

async function collect(batches: AsyncIterable<readonly ReplyEvent[]>): Promise<Reply> {
  const events: ReplyEvent[] = []
  for await (const batch of batches) for (const event of batch) events.push(event)
  return { type: 'whole', event: new ReplyEvent(events.flatMap(({ parts }) => parts)) }
}
