import { GatewayError } from '../../core/contract/errors.ts'
import type { StreamReader } from '../../core/contract/provider.ts'
import type { ReplyEvent, ReplyPart } from '../../core/contract/reply.ts'
import { parseObject } from '../read-fields.ts'
import { readFailureRecord } from './read-failure.ts'
import { createResponseReader } from './read-response.ts'

/** Reads streamed fragments of a response; the stream ends with its bytes: https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent */
export function openStream(): StreamReader {
  const reader = createResponseReader()
  return {
    read({ data }) {
      if (data === '') return []
      const record = parseObject(data)
      if (!record) throw new GatewayError('provider_error', 'The provider sent a malformed record.')
      if (record.error != null) throw readFailureRecord(record)
      return eventsOf(reader.read(record))
    },
    end: () => eventsOf(reader.end()),
  }
}

function eventsOf(parts: readonly ReplyPart[]): readonly ReplyEvent[] {
  return parts.length === 0 ? [] : [{ parts }]
}
