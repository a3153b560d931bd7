import { ProtobufReader } from './protobuf.ts'

/** An event of a subscription. */
export interface SubscribedEvent {
  readonly streamId: string
  readonly revision: number
  readonly commit: number
  readonly type: string
  /** Whether data claims to be JSON. */
  readonly isJson: boolean
  readonly data: string
  readonly metadata: string
}

/** What a subscription receives. `other`: what Signalbox has no use for. */
export type SubscriptionItem = SubscribedEvent | 'confirmed' | 'caught-up' | 'other'

/** Decodes a message of `Streams.Read`. The client's own code is slower: it builds objects for all fields. */
export function decodeReadResponse(bytes: Buffer): SubscriptionItem {
  const reader = new ProtobufReader(bytes)
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) return reader.message(decodeResolvedEvent)
    if (field === 2) return 'confirmed'
    if (field === 8) return 'caught-up'
    reader.skip()
  }
  return 'other'
}

function decodeResolvedEvent(reader: ProtobufReader): SubscriptionItem {
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) return reader.message(decodeEvent)
    reader.skip()
  }
  return 'other'
}

function decodeEvent(reader: ProtobufReader): SubscribedEvent {
  let streamId = ''
  let [revision, commit] = [0, 0]
  let type = ''
  let isJson = false
  let [metadata, data] = ['', '']
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 2) streamId = reader.message(decodeStreamName)
    else if (field === 3) revision = reader.varint()
    else if (field === 5) commit = reader.varint()
    else if (field === 6) {
      const [key, value] = reader.message(decodeEntry)
      if (key === 'type') type = value
      else if (key === 'content-type') isJson = value === 'application/json'
    } else if (field === 7) metadata = reader.string()
    else if (field === 8) data = reader.string()
    else reader.skip()
  }
  return { streamId, revision, commit, type, isJson, data, metadata }
}

function decodeStreamName(reader: ProtobufReader): string {
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 3) return reader.string()
    reader.skip()
  }
  return ''
}

/** Decodes an entry of a map of strings. */
function decodeEntry(reader: ProtobufReader): readonly [key: string, value: string] {
  let [key, value] = ['', '']
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) key = reader.string()
    else if (field === 2 && key !== 'created') value = reader.string()
    else reader.skip()
  }
  return [key, value]
}
