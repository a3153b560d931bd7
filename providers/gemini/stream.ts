import type { ReplyPart } from '../../core/contract/chat.ts'
import type { StreamReader } from '../../core/contract/provider.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { isReportedError } from '../shared/error-body.ts'
import { malformedRecordError } from '../shared/errors.ts'
import { TextRecordMatcher } from '../shared/record-pattern.ts'
import { toReplyEvents } from '../shared/stream.ts'
import { parseGeminiErrorRecord } from './errors.ts'
import { createGeminiResponseReader } from './reply.ts'

/**
 * Reads the fragments of a streamed response; the stream has no end marker
 * (docs/providers.md, "Gemini"):
 * https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent
 */
export function createGeminiStreamReader(): StreamReader {
  const reader = createGeminiResponseReader()
  const textRecords = new TextRecordMatcher('text')
  let hasReportedUsage = false

  /** The first usage has the input, for replies that end early. */
  function withFirstUsage(parts: readonly ReplyPart[]): readonly ReplyPart[] {
    const usage = hasReportedUsage ? undefined : reader.usage()
    if (usage === undefined || parts.length === 0) return parts
    hasReportedUsage = true
    return [...parts, { type: 'usage', usage }]
  }

  return {
    read({ data }) {
      if (data === '') return []
      const text = textRecords.match(data)
      if (text !== undefined) return text === '' ? [] : toReplyEvents([{ type: 'text', text }])
      const record = parseJsonObject(data)
      if (!record) throw malformedRecordError()
      if (isReportedError(record.error)) throw parseGeminiErrorRecord(record)
      const parts = reader.read(record)
      textRecords.learn(data, record, parts)
      return toReplyEvents(withFirstUsage(parts))
    },
    end: () => toReplyEvents(reader.end()),
  }
}
