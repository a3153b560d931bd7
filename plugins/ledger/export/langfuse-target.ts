import { hash } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { readNeededSecret } from '../../../core/secrets/read-secret.ts'
import { parseJson } from '../../../core/util/json.ts'
import { createPool } from '../../../providers/shared/connection.ts'
import { fetchWhole } from '../../../providers/shared/http.ts'
import { isErrorStatus } from '../../../providers/shared/response-head.ts'
import type { ExportedRecord, ExportTargetKind } from './target.ts'

interface LangfuseRow {
  readonly url?: string
  readonly public_key: string
  /** `env:NAME` or `file:PATH`. */
  readonly secret_key: string
}

const DEFAULT_URL = 'https://cloud.langfuse.com'
const PATH = '/api/public/otel/v1/traces'
const TIMEOUT_MS = 30_000
const ANSWER_LIMIT = { maxBytes: 64 * 1024, isCutOff: true }

/**
 * Sends spans of OpenTelemetry, which Langfuse shows as generations and tools
 * (https://langfuse.com/integrations/native/opentelemetry). A record that is sent again replaces its span.
 */
export const langfuseTarget: ExportTargetKind<LangfuseRow> = {
  pageRecords: 500,
  pageSeconds: 5,
  open({ url = DEFAULT_URL, public_key, secret_key }) {
    const { origin, pathname } = new URL(url)
    const pool = createPool(origin, {})

    async function post(records: readonly ExportedRecord[], signal: AbortSignal): Promise<number> {
      const secret = await readNeededSecret(secret_key)
      const request = {
        method: 'POST',
        path: `${pathname.replace(/\/$/, '')}${PATH}`,
        headers: {
          'content-type': 'application/json',
          'accept-encoding': 'identity',
          authorization: `Basic ${Buffer.from(`${public_key}:${secret}`).toString('base64')}`,
          'x-langfuse-ingestion-version': '4',
        },
        body: JSON.stringify(toTraces(records)),
      } as const
      const limits = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
      const { head, text } = await fetchWhole(pool, request, ANSWER_LIMIT, limits)
      if (isErrorStatus(head)) throw new Error(`Langfuse responded with status ${head.status}`)
      return countRejected(text, records.length)
    }

    return {
      async send(page, signal) {
        let rejected = 0
        for await (const records of page.read()) rejected += await post(records, signal)
        return rejected
      },
      close: () => pool.close(),
    }
  },
}

/**
 * Spans that the receiver will not take, either, when they are sent again. Throws if something else has
 * answered, such as the page to sign in of a proxy: nobody has the spans then.
 */
function countRejected(text: string, sent: number): number {
  const answer = text.trim() === '' ? {} : parseJson(text)
  if (!isJsonObject(answer)) throw new Error('the answer is not that of Langfuse; check url')
  const { partialSuccess: partial } = answer
  const rejected = isJsonObject(partial) ? Math.trunc(Number(partial.rejectedSpans)) || 0 : 0
  return Math.min(Math.max(rejected, 0), sent)
}

function toTraces(records: readonly ExportedRecord[]): JsonObject {
  return {
    resourceSpans: [
      {
        resource: { attributes: toAttributes({ 'service.name': 'signalbox' }) },
        scopeSpans: [{ scope: { name: 'signalbox' }, spans: records.map(toSpan) }],
      },
    ],
  }
}

function toSpan({ kind, fields }: ExportedRecord): JsonObject {
  const requestId = String(kind === 'request' ? fields.x_request_id : fields.id)
  const startMs = Date.parse(String(fields.time))
  const ms = Number((kind === 'request' ? fields.latency_ms : fields.duration_ms) ?? 0)
  const traceId = typeof fields.trace_id === 'string' ? fields.trace_id : digestOf(requestId, 32)
  const { name, own } = kind === 'request' ? describeRequest(fields, startMs) : describeCall(fields)
  const { user_id: user, session_id: session } = fields
  return {
    traceId,
    spanId: digestOf(`${kind} ${requestId}`, 16),
    name,
    kind: 3,
    startTimeUnixNano: toNanos(startMs),
    endTimeUnixNano: toNanos(startMs + ms),
    attributes: toAttributes({
      'user.id': String(user),
      'session.id': session ?? undefined,
      'langfuse.trace.name': name,
      ...own,
      'langfuse.observation.metadata.request_id': requestId,
      'langfuse.observation.metadata.key_id': fields.key_id,
      'langfuse.observation.metadata.group_ids': fields.group_ids,
      'langfuse.observation.metadata.rules_position': fields.rules_position,
    }),
  }
}

interface Described {
  readonly name: string
  readonly own: JsonObject
}

function describeRequest(fields: JsonObject, startMs: number): Described {
  const error = isJsonObject(fields.error) ? fields.error : undefined
  const tokens = isJsonObject(fields.tokens) ? fields.tokens : undefined
  const firstToken = fields.first_token_ms
  const name = String(fields.endpoint)
  return {
    name,
    own: {
      'langfuse.observation.type': 'generation',
      'langfuse.observation.model.name': fields.model ?? fields.requested_model,
      'langfuse.observation.usage_details': tokens && JSON.stringify(toUsage(tokens)),
      'langfuse.observation.cost_details':
        typeof fields.cost_usd === 'number' ? JSON.stringify({ total: fields.cost_usd }) : undefined,
      'langfuse.observation.completion_start_time':
        typeof firstToken === 'number' ? JSON.stringify(new Date(startMs + firstToken)) : undefined,
      ...levelOf(error?.code, error?.message),
      'langfuse.observation.metadata.provider': fields.provider,
      'langfuse.observation.metadata.status': fields.status,
      'langfuse.observation.metadata.routing_reason': fields.routing_reason,
      'langfuse.observation.metadata.rule_trace': fields.rule_trace,
    },
  }
}

function describeCall(fields: JsonObject): Described {
  return {
    name: `${fields.server} ${fields.tool}`,
    own: {
      'langfuse.observation.type': 'tool',
      ...levelOf(fields.error_code, undefined),
      'langfuse.observation.metadata.verdict': fields.verdict,
      'langfuse.observation.metadata.rules': fields.rules,
      'langfuse.observation.metadata.arguments_digest': fields.arguments_digest,
    },
  }
}

function levelOf(code: unknown, message: unknown): JsonObject {
  if (typeof code !== 'string') return {}
  return {
    'langfuse.observation.level': 'ERROR',
    'langfuse.observation.status_message': message === undefined ? code : `${code}: ${message}`,
  }
}

/** Langfuse adds the numbers up, so that none may contain another one. */
function toUsage(tokens: JsonObject): JsonObject {
  const [input, cached, written, output, reasoning] = [
    'input',
    'cached',
    'cache_write',
    'output',
    'reasoning',
  ].map((name) => Number(tokens[name] ?? 0)) as [number, number, number, number, number]
  return {
    input: input - cached - written,
    input_cached_tokens: cached,
    input_cache_creation: written,
    output: output - reasoning,
    output_reasoning_tokens: reasoning,
    total: input + output,
  }
}

/** In the JSON form of OTLP. Absent values are left out; lists and objects become JSON. */
function toAttributes(values: JsonObject): readonly JsonObject[] {
  return Object.entries(values).flatMap(([key, value]) => {
    if (value === undefined || value === null) return []
    return [{ key, value: { stringValue: typeof value === 'string' ? value : JSON.stringify(value) } }]
  })
}

const toNanos = (ms: number) => String(BigInt(Math.round(ms * 1000)) * 1000n)

const digestOf = (text: string, digits: number) => hash('sha256', text).slice(0, digits)
