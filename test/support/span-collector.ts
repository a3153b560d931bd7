import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import protobuf from 'protobufjs'
import { waitUntil } from './wait.ts'

/** The parts of OTLP's trace messages (opentelemetry-proto 1.x) that the tests read. */
const MESSAGES = protobuf
  .parse(`
  syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1;
    bytes span_id = 2;
    bytes parent_span_id = 4;
    string name = 5;
    uint32 kind = 6;
    fixed64 start_time_unix_nano = 7;
    fixed64 end_time_unix_nano = 8;
    repeated KeyValue attributes = 9;
    repeated Link links = 13;
    Status status = 15;
  }
  message Link { bytes trace_id = 1; bytes span_id = 2; }
  message Status { uint32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue {
    oneof value {
      string string_value = 1;
      bool bool_value = 2;
      int64 int_value = 3;
      double double_value = 4;
      ArrayValue array_value = 5;
    }
  }
  message ArrayValue { repeated AnyValue values = 1; }
`)
  .root.lookupType('Request')

export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty for the root of a trace. */
  readonly parentId: string
  readonly name: string
  /** 1: internal, 2: server, 3: client. */
  readonly kind: number
  /** In nanoseconds since 1970. */
  readonly start: bigint
  readonly end: bigint
  readonly attributes: Readonly<Record<string, unknown>>
  readonly isError: boolean
  /** `trace/span` of each link. */
  readonly links: readonly string[]
  /** That of the service. */
  readonly resource: Readonly<Record<string, unknown>>
}

/** An OTLP/HTTP receiver that decodes spans. */
export interface SpanCollector {
  /** The base URL, without `/v1/traces`. */
  readonly url: string
  readonly headers: readonly IncomingHttpHeaders[]
  /** Resolves with the spans of the trace when the span of its request has arrived. */
  trace(traceId: string): Promise<readonly CollectedSpan[]>
  spans(): readonly CollectedSpan[]
  /** The status of further answers; 200 at first. */
  answerWith(status: number): void
  /** Answers no request until `resume`. */
  pause(): void
  resume(): void
  close(): void
}

export async function startSpanCollector(): Promise<SpanCollector> {
  const spans: CollectedSpan[] = []
  const headers: IncomingHttpHeaders[] = []
  let status = 200
  let resumed = Promise.resolve()
  let resume = (): void => undefined
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    await resumed
    headers.push({ ...request.headers, ':path': request.url })
    const body = Buffer.concat(pieces)
    if (status === 200)
      spans.push(...decode(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body))
    response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const ofTrace = (traceId: string) => spans.filter((span) => span.traceId === traceId)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headers,
    spans: () => spans,
    trace: async (traceId) => {
      await waitUntil(() => ofTrace(traceId).some(({ kind }) => kind === 2))
      return ofTrace(traceId)
    },
    answerWith(next) {
      status = next
    },
    pause() {
      resumed = new Promise((resolve) => {
        resume = resolve
      })
    },
    resume: () => resume(),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

interface DecodedValue {
  readonly value?: string
  readonly arrayValue?: { readonly values: readonly DecodedValue[] }
  readonly [kind: string]: unknown
}

type DecodedAttributes = readonly { readonly key: string; readonly value: DecodedValue }[]

interface DecodedSpan {
  readonly traceId: Buffer
  readonly spanId: Buffer
  readonly parentSpanId: Buffer
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: DecodedAttributes
  readonly status: { readonly code: number } | null
  readonly links?: readonly { readonly traceId: Buffer; readonly spanId: Buffer }[]
}

interface DecodedRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: DecodedAttributes }
    readonly scopeSpans: readonly { readonly spans: readonly DecodedSpan[] }[]
  }[]
}

function decode(body: Uint8Array): readonly CollectedSpan[] {
  const options = { longs: String, oneofs: true, defaults: true } as const
  const { resourceSpans } = MESSAGES.toObject(MESSAGES.decode(body), options) as DecodedRequest
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: toHex(span.traceId),
        spanId: toHex(span.spanId),
        parentId: toHex(span.parentSpanId),
        name: span.name,
        kind: span.kind,
        start: BigInt(span.startTimeUnixNano),
        end: BigInt(span.endTimeUnixNano),
        attributes: toRecord(span.attributes),
        isError: span.status?.code === 2,
        links: (span.links ?? []).map((link) => `${toHex(link.traceId)}/${toHex(link.spanId)}`),
        resource: toRecord(resource.attributes),
      })),
    ),
  )
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

function toRecord(attributes: DecodedAttributes = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, toValue(value)]))
}

function toValue(any: DecodedValue): unknown {
  if (any.value === 'intValue') return Number(any.intValue)
  if (any.value === 'arrayValue') return any.arrayValue?.values?.map(toValue) ?? []
  return any[any.value ?? '']
}
