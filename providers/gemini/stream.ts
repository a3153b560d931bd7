import { GatewayError } from '../../core/contract/errors.ts'
import type { StreamReader } from '../../core/contract/provider.ts'
import { eventsOf } from '../shared/batches.ts'
import { parseObject } from '../shared/fields.ts'
import { RepeatedText } from '../shared/repeated-record.ts'
import { readFailureRecord } from './errors.ts'
import { createResponseReader } from './reply.ts'

/** Reads streamed fragments of a response; the stream ends with its bytes: https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent */
export function openStream(): StreamReader {
  const reader = createResponseReader()
  const repeated = new RepeatedText('text')
  return {
    read({ data }) {
      if (data === '') return []
      const text = repeated.read(data)
      if (text !== undefined) return text === '' ? [] : eventsOf([{ type: 'text', text }])
      const record = parseObject(data)
      if (!record) throw new GatewayError('provider_error', 'The provider sent a malformed record.')
      if (record.error != null) throw readFailureRecord(record)
      const parts = reader.read(record)
      repeated.learn(data, parts)
      return eventsOf(parts)
    },
    end: () => eventsOf(reader.end()),
  }
}
