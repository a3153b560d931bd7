import type { Asked, PackedAsk, PackedReply, Reply } from './sqlite-protocol.ts'

export function packAsk(asked: Asked): PackedAsk {
  const { id, ask } = asked
  if (ask.type !== 'append') return asked
  return [id, ask.stream, ask.expectedRevision, ask.metadata, ask.maxAge, ...ask.events.flat()]
}

export function unpackAsk(packed: PackedAsk): Asked {
  if (!isList(packed)) return packed
  const [id, stream, expectedRevision, metadata, maxAge, ...texts] = packed
  const events: [type: string, data: string][] = []
  for (let at = 0; at < texts.length; at += 2) events.push([texts[at] ?? '', texts[at + 1] ?? ''])
  return { id, ask: { type: 'append', stream, expectedRevision, events, metadata, maxAge } }
}

export function packReply(reply: Reply): PackedReply {
  const { id, answer } = reply
  return answer.type === 'appended' ? [id, answer.revision, answer.position] : reply
}

export function unpackReply(packed: PackedReply): Reply {
  if (!isList(packed)) return packed
  const [id, revision, position] = packed
  return { id, answer: { type: 'appended', revision, position } }
}

/** `Array.isArray` does not tell lists that may not be changed. */
function isList<Packed extends PackedAsk | PackedReply>(
  packed: Packed,
): packed is Exclude<Packed, Asked | Reply> {
  return Array.isArray(packed)
}
