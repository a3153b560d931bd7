import {
  type ChatRequest,
  type Dialect,
  type GatewayContext,
  GatewayError,
  type InferenceDescription,
  type JsonObject,
  type Message,
  type Reply,
  ReplyEvent,
  type RequestContext,
  slot,
} from '../../core/contract/index.ts'
import { inferenceHeaders, replyHeaders } from '../../core/dialects/inference-description.ts'
import { PreviousResponse } from '../../core/dialects/previous-response.ts'
import type { ChooseForm } from '../../core/dialects/response-form.ts'
import { requestIdSuffix } from '../../core/util/ids.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { findClientTools, findLoadedTools } from '../../providers/shared/responses-format/client-tools.ts'
import {
  parseResponsesBody,
  parseResponsesInput,
  parseResponsesRequest,
  parseResponsesWarnings,
} from '../../providers/shared/responses-format/parse-request.ts'
import {
  type FlatTool,
  type ResponsesBody,
  responsesRequestSchema,
} from '../../providers/shared/responses-format/request-schema.ts'
import { RESPONSES_NAMES, type ResponsesCall, toPlainToolForm, toResponsesPath } from './call.ts'
import {
  checkCallOutputs,
  type FindResponse,
  loadConversation,
  type RecallTurns,
  resolveReferences,
} from './conversation.ts'
import { ResponseSchema, ResponseStreamEvent } from './response-schemas.ts'
import type { SessionMemory } from './session-memory.ts'
import type { ResponseRecorder, ResponseStore } from './store.ts'
import { completeResponse, streamResponseEvents, writeFailedResponse } from './write-response.ts'

const input = 'Name three signals of a railway.'

/** How `/openapi.json` describes `POST /v1/responses`. */
const responsesDescription: InferenceDescription = {
  operationId: 'createResponse',
  summary: 'Creates a response and stores it for replay and conversations.',
  tags: ['responses'],
  headers: inferenceHeaders,
  body: responsesRequestSchema,
  examples: {
    automatic: { input },
    instructed: {
      model: 'auto:quality',
      input,
      instructions: 'Answer in one line.',
      max_output_tokens: 200,
      temperature: 0.5,
    },
    continued: {
      input: 'And which is the oldest?',
      previous_response_id: 'resp_gGvBxwr2CTTZ4RYVqXhM0SkL',
    },
    streamed: { input, stream: true },
    not_stored: { input: [{ role: 'user', content: input }], store: false },
  },
  responses: {
    200: {
      description: 'The response, or the events of a stream.',
      headers: replyHeaders,
      body: ResponseSchema,
      events: ResponseStreamEvent,
    },
  },
}

/** Creates the dialect of `POST /v1/responses`, which continues stored conversations and stores responses. */
export function createResponsesDialect(
  store: ResponseStore,
  activeCalls: ActiveCalls,
  recorder: ResponseRecorder,
  chooseForm: ChooseForm,
  memory: Pick<SessionMemory, 'recall'>,
): Dialect {
  function requireCall(ctx: GatewayContext): ResponsesCall {
    const call = activeCalls.get(ctx)
    if (call !== undefined) return call
    throw new GatewayError('internal_error', 'The request was not parsed before its reply was written.')
  }

  return {
    parseRequest(rawBody, ctx) {
      const find = (responseKey: string) => store.find(responseKey, ctx.account.userId)
      const recall = (responseKey: string) => memory.recall(ctx.client.session, responseKey)
      return chain(
        parseResponsesCall(rawBody, find, recall),
        ({ body, input, earlier, loadedTools, request }) => {
          const plainToolForm = toPlainToolForm(body)
          if (body.previous_response_id) PreviousResponse.set(ctx, body.previous_response_id)
          activeCalls.add(ctx, {
            body,
            clientTools: findClientTools([...(body.tools ?? []), ...loadedTools]),
            responseKey: requestIdSuffix(ctx.requestId),
            createdAt: Math.floor(Date.now() / 1000),
            form: chooseForm(ctx.headers, plainToolForm),
            plainToolForm,
            inputCount: input.length,
            earlierCount: earlier.length,
          })
          return request
        },
      )
    },
    parseWarnings: parseResponsesWarnings,
    answer: (exchange) => (activeCalls.get(exchange)?.body.generate === false ? EMPTY_REPLY : undefined),
    writeWhole(exchange, ctx) {
      const call = requireCall(ctx)
      return completeResponse(exchange, call, recorder.persisterFor(exchange, call))
    },
    writeStream(exchange, ctx) {
      const call = requireCall(ctx)
      return streamResponseEvents(exchange, call, recorder.persisterFor(exchange, call))
    },
    hasErrorEvent: true,
    writeStreamedError(error, exchange) {
      const call = activeCalls.get(exchange)
      return call && writeFailedResponse(error, exchange, call)
    },
    defaults: ['temperature'],
    sentDefaults: { temperature: 1 },
    parameterNames: RESPONSES_NAMES,
    toCallerPath(path, exchange) {
      const call = activeCalls.get(exchange)
      return call === undefined ? path : toResponsesPath(path, call, exchange.request.messages.length)
    },
    errorStyle: 'openai',
    description: responsesDescription,
  }
}

/** The reply to a request that only prepares the next one. */
const EMPTY_REPLY: Reply = {
  type: 'whole',
  event: new ReplyEvent([
    { type: 'usage', usage: { input: 0, output: 0 } },
    { type: 'finish', reason: 'stop' },
  ]),
}

/** Creates a parser for requests that are not sent. */
export function createResponsesParser(
  find: ResponseStore['find'],
): Pick<Dialect, 'parseRequest' | 'parseWarnings' | 'parameterNames'> {
  return {
    parameterNames: RESPONSES_NAMES,
    parseWarnings: parseResponsesWarnings,
    parseRequest: (body, { account }) =>
      chain(
        parseResponsesCall(body, (responseKey) => find(responseKey, account.userId)),
        ({ request }) => request,
      ),
  }
}

/** The calls of the Responses API that are in flight in this process. */
export interface ActiveCalls {
  /** Adds the call of a request until its response has ended or the client has disconnected. */
  add(ctx: RequestContext, call: ResponsesCall): void
  /** Returns the call of a request; undefined for requests of other endpoints. */
  get(request: Pick<GatewayContext, 'state'>): ResponsesCall | undefined
  isRunning(responseKey: string, userId: number): boolean
}

const activeCall = slot<ResponsesCall>('responses.call')

export function createActiveCalls(): ActiveCalls {
  const userIds = new Map<string, number>()
  return {
    add(ctx, call) {
      activeCall.set(ctx, call)
      userIds.set(call.responseKey, ctx.account.userId)
      ctx.client.onClose(() => userIds.delete(call.responseKey))
    },
    get: (exchange) => activeCall.of(exchange),
    isRunning: (responseKey, userId) => userIds.get(responseKey) === userId,
  }
}

/** A body of `POST /v1/responses` with its references resolved. */
interface ParsedCall {
  readonly body: ResponsesBody
  /** Messages of the call itself. */
  readonly input: readonly Message[]
  /** Messages of earlier turns. */
  readonly earlier: readonly Message[]
  /** What searches for tools found in the messages. */
  readonly loadedTools: readonly FlatTool[]
  readonly request: ChatRequest
}

/** Parses a call and loads the responses and items that it references. Throws 400 with the invalid field. */
export function parseResponsesCall(
  rawBody: JsonObject,
  find: FindResponse,
  recall?: RecallTurns,
): MaybePromise<ParsedCall> {
  return chain(resolveReferences(parseResponsesBody(rawBody), find), (body) => {
    const input = parseResponsesInput(body)
    return chain(loadConversation(body, find, recall), (earlier) => {
      checkCallOutputs(body, earlier, input)
      const loadedTools = findLoadedTools([...earlier, ...input], body.tools)
      const request = parseResponsesRequest(body, earlier, input, loadedTools)
      return { body, input, earlier, loadedTools, request }
    })
  })
}
