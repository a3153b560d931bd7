import { findErrorDefinition } from '../../core/contract/error-codes.ts'
import {
  type Account,
  definePlugin,
  type EndedExchange,
  type EndedRequest,
  type Exchange,
  GatewayError,
  type OperatorRegistry,
  optional,
  type RepliedExchange,
  type Reply,
  type ReplyTransform,
  type Static,
  StrictObject,
  settingsOf,
  Type,
} from '../../core/contract/index.ts'
import { fromKoaError } from '../../core/http/errors.ts'
import type { PluginEntry } from '../../core/pipeline/load.ts'
import { ProcessServices } from '../../core/pipeline/process-services.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { lazy } from '../../core/util/lazy.ts'
import { GatewayState } from '../../projections/state.ts'
import { Access, LastUse } from '../auth/index.ts'
import { RequestMasks } from '../firewall/index.ts'
import { startExports } from './export/start-exports.ts'
import type { ExportRow } from './export/targets.ts'
import { forgetDeletedUsers } from './forget-deleted-users.ts'
import { createLedgerAccess, Ledger, LedgerPeers, LedgerStore, ToolCallLedger } from './index.ts'
import { createPromptEndpoints, PROMPT_ERROR_CODES } from './prompt-endpoints.ts'
import { createLedgerReader, createLedgerUnavailableError, LEDGER_ERROR_CODES } from './reader.ts'
import { collectReply, toRecordedReply } from './record-reply.ts'
import { createRequestEndpoints } from './request-endpoints.ts'
import { createSessionEndpoints } from './session-endpoints.ts'
import type { LedgerRecord } from './store/record.ts'
import { type PromptSettings, toLedgerRecord, toRecordedCosts, toRecordedPrompt } from './to-record.ts'
import { createToolCallEndpoints } from './tool-call-endpoints.ts'
import { type CalledArguments, ToolCallWriter } from './tool-calls.ts'
import { createUsageEndpoints } from './usage-endpoints.ts'
import { LedgerWriter } from './writer.ts'

interface LedgerSettings {
  /** `required`: requests that cannot be recorded are refused. */
  readonly evidence: 'optional' | 'required'
  readonly record_prompts: PromptSettings['recordPrompts']
  readonly record_replies: boolean
  readonly max_prompt_chars: number
  readonly export: readonly ExportRow[]
}

const ledgerOptions = StrictObject({
  export_lease_seconds: Type.Integer({
    minimum: 1,
    maximum: 3600,
    default: 20,
    description: 'After what time another process takes over the exports of one that ended without a word.',
  }),
})

/**
 * Records every inference request of an authenticated caller, and serves the records and what they sum up to.
 * See docs/decisions/ledger.md, "Requests of strangers are not recorded".
 */
export default definePlugin({
  name: 'ledger',
  after: ['auth'],
  before: ['dispatch'],
  replay: { type: 'pure' },
  options: ledgerOptions,
  uses: {
    process: ProcessServices,
    state: GatewayState,
    access: Access,
    store: LedgerStore,
    peers: LedgerPeers,
    settings: settingsOf<LedgerSettings>('ledger'),
    masks: optional(RequestMasks),
    plugins: settingsOf<readonly PluginEntry[]>('plugins'),
    exportSecret: optional(settingsOf<string | null>('ledger_export_secret')),
  },
  provides: [Ledger, LastUse, ToolCallLedger],
  setup(options: Static<typeof ledgerOptions>, { use, provide, operators, logger, metrics }) {
    const { evidence, record_prompts: recordPrompts, max_prompt_chars: maxPromptChars } = use.settings
    const recordsReplies = use.settings.record_replies && recordPrompts !== 'off'
    const prompts = { recordPrompts, maxPromptChars, headers: lazy(() => listConditionHeaders(operators)) }
    if (recordPrompts === 'masked') requireFirewall(use.plugins)
    const { accounts, groups } = use.state
    const { store: ledger, peers } = use
    const recordedListeners: ((requestId: string) => void)[] = []
    const writer = new LedgerWriter(ledger, logger, metrics, (requestIds) => {
      for (const notify of recordedListeners) for (const requestId of requestIds) notify(requestId)
    })
    const toolCalls = new ToolCallWriter(ledger, logger, metrics)
    const flush = () => Promise.all([writer.flush(), toolCalls.flush()])
    peers?.onFlushLedger(flush)
    const settle = () => Promise.all([flush(), peers?.flushLedgers()])
    const reader = createLedgerReader(ledger, settle, logger)
    const exports = startExports({
      rows: use.process.isPrimary ? use.settings.export : [],
      ...{ leaseSeconds: options.export_lease_seconds, secret: use.exportSecret ?? undefined },
      ...{ ledger, logger, metrics },
    })
    const stopDeletions = forgetDeletedUsers(accounts, reader, logger)
    /** Requests that are recorded before they have ended. */
    const recorded = new WeakSet<EndedExchange>()
    /** Requests that the firewall let pass, if that matters. */
    const masked = new WeakSet<Exchange>()
    const promptOf = (exchange: EndedExchange | undefined) =>
      recordPrompts === 'off' ||
      exchange === undefined ||
      accounts.user(exchange.account.userId) === undefined
        ? null
        : toRecordedPrompt(exchange, masked.has(exchange), prompts, replyOf(exchange))
    const replyOf = (exchange: EndedExchange) =>
      toRecordedReply(exchange, exchange.error !== undefined && isRefusal(exchange.error))

    /** A user who was deleted in the meantime leaves no features. */
    function withoutDeleted(record: LedgerRecord): LedgerRecord {
      if (record.features === undefined || accounts.user(record.userId) !== undefined) return record
      const { features: _, ...rest } = record
      return rest
    }

    /** The record of a request whose response is about to be sent. */
    function toRecord(exchange: EndedExchange, status: number, error?: unknown): LedgerRecord {
      const { id, traceId, account, endpoint = '', startedAt, client } = exchange
      const ends = { startedAt, endedAt: performance.now(), isAborted: client.isAborted }
      const more = { groups: groups.groupsOf(account.userId), prompt: promptOf(exchange) }
      const outcome = { id, traceId, account, endpoint, status, error, ...ends, exchange, ...more }
      return withoutDeleted(toLedgerRecord(outcome))
    }

    /**
     * Returns undefined, once it is logged, if a plugin has made of the request what has no record. Its
     * cost is recorded anyway.
     */
    function tryRecord(
      { id, account, exchange }: Pick<EndedRequest, 'id' | 'exchange'> & { readonly account: Account },
      build: () => LedgerRecord,
    ): LedgerRecord | undefined {
      try {
        return build()
      } catch (error) {
        const { userId, keyId } = account
        const costs = exchange === undefined ? { cost: 0 } : toRecordedCosts(exchange)
        const bare = { requestId: id, userId, keyId, groups: groups.groupsOf(userId), ...costs }
        writer.reject({ requestId: id, reason: errorMessage(error) }, bare)
        return undefined
      }
    }

    function recordCopy(exchange: EndedExchange, error: unknown): void {
      const status = error === undefined ? 200 : GatewayError.isInstance(error) ? error.status : 500
      const record = tryRecord(asEnded(exchange), () => toRecord(exchange, status, error))
      if (record !== undefined) writer.add({ ...record, prompt: null })
    }

    function observe(request: EndedRequest): void {
      const { account, endpoint, exchange, isInference } = request
      if (!isInference || account === undefined || endpoint === undefined) return
      if (exchange !== undefined && recorded.has(exchange)) return
      const { id, traceId, status, error, isAborted, startedAt, endedAt } = request
      const record = tryRecord({ id, account, exchange }, () => {
        // Not a spread of the request, which takes as long as the rest of the record.
        const outcome = {
          id,
          traceId,
          account,
          groups: groups.groupsOf(account.userId),
          endpoint,
          status,
          error,
          isAborted,
          startedAt,
          endedAt,
          exchange,
          prompt: promptOf(exchange),
        }
        return withoutDeleted(toLedgerRecord(outcome))
      })
      if (record !== undefined) writer.add(record)
    }

    /** A refusal stays a refusal when it cannot be recorded, unless evidence is required. */
    async function rejected(exchange: EndedExchange, thrown: unknown): Promise<void> {
      const error = fromKoaError(thrown) ?? thrown
      if (!GatewayError.isInstance(error) || exchange.client.isAborted) return
      const isRequired = evidence === 'required'
      if (!isRequired && !isRefusal(error)) return
      recorded.add(exchange)
      const record = tryRecord(asEnded(exchange), () => toRecord(exchange, error.status, error))
      if (record !== undefined && (await writer.addNow(record))) return
      if (isRequired) throw replaceUnrecorded(exchange, record)
    }

    /** Returns the error for the client of a request that cannot be recorded as it ended. */
    function replaceUnrecorded(exchange: EndedExchange, record: LedgerRecord | undefined, status?: number) {
      const error = createUnrecordedError()
      if (record !== undefined) writer.replace(toRecord(exchange, status ?? error.status, error))
      return error
    }

    /** See docs/decisions/ledger.md, "Required evidence is written before the end of a reply". */
    function refuseWhileAway(_: EndedExchange, next: () => Promise<Reply>): Promise<Reply> {
      if (writer.isAvailable) return next()
      throw createUnrecordedError()
    }

    function recordAtEnd(exchange: EndedExchange): ReplyTransform {
      return {
        transform: (event) => [event],
        async flush() {
          recorded.add(exchange)
          const record = tryRecord(asEnded(exchange), () => toRecord(exchange, 200))
          if (record !== undefined && (await writer.addNow(record))) return []
          // A stream has begun with 200.
          throw replaceUnrecorded(exchange, record, exchange.request.stream === true ? 200 : undefined)
        },
      }
    }

    function inspect(exchange: RepliedExchange): readonly ReplyTransform[] {
      const masks = recordPrompts === 'masked' ? use.masks : undefined
      const collector = recordsReplies ? collectReply(exchange, maxPromptChars, masks) : undefined
      return [collector ?? [], evidence === 'required' ? recordAtEnd(exchange) : []].flat()
    }

    provide(Ledger, {
      ...createLedgerAccess(ledger, settle),
      onRecorded: (listener) => void recordedListeners.push(listener),
      recordCopy,
    })
    /** Undefined if they are not recorded. */
    function argumentsOf({ received, sent }: CalledArguments): string | undefined {
      const text = recordPrompts === 'full' ? received : recordPrompts === 'masked' ? sent : undefined
      return text !== undefined && text.length <= maxPromptChars ? text : undefined
    }
    provide(ToolCallLedger, {
      record(call, called) {
        const isKnown = accounts.user(call.userId) !== undefined
        const argumentsText = called && isKnown ? argumentsOf(called) : undefined
        const recordedText = argumentsText === undefined ? {} : { argumentsText }
        toolCalls.add({ ...call, groups: groups.groupsOf(call.userId), ...recordedText })
      },
    })
    provide(LastUse, {
      async ofKeys(ids) {
        await settle()
        return new Map((await ledger.lastUse(ids)).map(({ key, hour }) => [key, hour]))
      },
      async ofUsers(ids) {
        await settle()
        return new Map((await ledger.lastUseOfUsers(ids)).map(({ user, hour }) => [user, hour]))
      },
    })

    return {
      observe,
      rejected,
      ...(prompts.recordPrompts === 'masked' && { decide: (exchange) => void masked.add(exchange) }),
      ...(evidence === 'required' && { reply: refuseWhileAway }),
      ...((recordsReplies || evidence === 'required') && { inspect }),
      endpoints: [
        ...createRequestEndpoints(reader),
        ...createUsageEndpoints(reader, accounts),
        ...createToolCallEndpoints(reader, use.access.accessLog.reportPrompts),
        ...createSessionEndpoints(reader),
        ...createPromptEndpoints({
          reader,
          report: use.access.accessLog.reportPrompts,
          isKnownUser: (userId) => accounts.user(userId) !== undefined,
        }),
      ],
      errorCodes: { ...LEDGER_ERROR_CODES, ...PROMPT_ERROR_CODES },
      async close() {
        stopDeletions()
        await Promise.all([writer.close(), toolCalls.close(), exports.close()])
      },
    }
  },
})

/** Names of the request headers that conditions declare. Complete when all plugins are set up. */
function listConditionHeaders({ conditions }: OperatorRegistry): readonly string[] {
  return [...new Set([...conditions.values()].flatMap(({ headers = [] }) => headers))]
}

/** Prompts are recorded as the firewall leaves them. */
function requireFirewall(plugins: readonly PluginEntry[]): void {
  const names = plugins.map(({ use }) => use)
  const place = names.indexOf('firewall')
  if (place !== -1 && place < names.indexOf('ledger')) return
  throw new Error('ledger.record_prompts is "masked", so "firewall" must be listed before "ledger"')
}

function asEnded(exchange: EndedExchange) {
  return { id: exchange.id, account: exchange.account, exchange }
}

/** True for a request that a rule, a guardrail or a limit refused, and not a provider. */
function isRefusal({ status, code }: GatewayError): boolean {
  if (findErrorDefinition(code)?.failsClosed) return true
  return status >= 400 && status < 500 && !code.startsWith('provider_')
}

function createUnrecordedError(): GatewayError {
  return createLedgerUnavailableError(
    'The request cannot be recorded at the moment, and this gateway answers only what it can record. ' +
      'Retry later.',
  )
}
