import type { StreamReader } from '../../core/contract/provider.ts'
import { createChatStreamReader as openChatStream } from '../chat-format/read-stream.ts'

/** Reads chat completion chunks for their parts only (reference 7.3); chunks that say nothing are passed over. */
export function openStream(): StreamReader {
  const reader = openChatStream()
  return {
    isDone: () => reader.isDone?.() === true,
    read: (event) => reader.read(event).flatMap(({ parts }) => (parts.length > 0 ? [{ parts }] : [])),
    end: reader.end,
  }
}
