import { setTimeout } from 'node:timers/promises'
import type { Logger } from 'pino'
import { Gauge } from 'prom-client'
import {
  definePlugin,
  optional,
  type Static,
  StrictObject,
  settingsOf,
  Type,
} from '../../core/contract/index.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import type { Approval } from '../../projections/events/approvals.ts'
import { GatewayState } from '../../projections/state.ts'
import { createSignedWebhook } from '../../providers/shared/signed-webhook.ts'
import { APPROVAL_ERROR_CODES, createApprovalClaims } from './claim.ts'
import { createApprovalEndpoints, showApproval } from './endpoints.ts'
import { Approvals } from './index.ts'

const approvalOptions = StrictObject({
  expire_after_seconds: Type.Integer({
    minimum: 10,
    maximum: 604_800,
    default: 86_400,
    description: 'How long operators have to decide about a tool call.',
  }),
  usable_for_seconds: Type.Integer({
    minimum: 10,
    maximum: 86_400,
    default: 900,
    description: 'How long a granted approval can be used.',
  }),
  max_pending_per_user: Type.Integer({ minimum: 1, maximum: 1000, default: 50 }),
  webhook_url: Type.Optional(
    Type.String({
      pattern: '^https?://[^/@]+(/|$)',
      description: 'Where new approvals are posted, signed with APPROVAL_SECRET.',
    }),
  ),
})

type ApprovalOptions = Static<typeof approvalOptions>

/** Asks operators about tool calls that rules let pass only with an approval (docs/guides/approvals.md). */
export default definePlugin({
  name: 'approvals',
  after: ['auth'],
  options: approvalOptions,
  uses: { state: GatewayState, secret: optional(settingsOf<string | null>('approval_secret')) },
  provides: [Approvals],
  setup(options: ApprovalOptions, { use: { state, secret }, provide, store, logger, metrics }) {
    const webhook = createApprovalWebhook(options.webhook_url, secret ?? undefined, logger)
    const { accounts, approvals, writer } = state
    provide(
      Approvals,
      createApprovalClaims({
        ...{ approvals, writer, store },
        expireAfterSeconds: options.expire_after_seconds,
        maxPendingPerUser: options.max_pending_per_user,
        onRequested: webhook.announce,
      }),
    )
    new Gauge({
      name: 'signalbox_approvals_pending',
      help: 'Tool calls that wait for the decision of an operator.',
      // Every process knows all of them.
      aggregator: 'max',
      registers: [metrics],
      collect() {
        this.set(approvals.pending())
      },
    })
    const usableForSeconds = options.usable_for_seconds
    return {
      errorCodes: APPROVAL_ERROR_CODES,
      endpoints: createApprovalEndpoints({ accounts, approvals, writer, store, usableForSeconds }),
      close: webhook.close,
    }
  },
})

const RETRY_AFTER_MS = [1000, 5000, 30_000]

/** Throws if there is a URL without a secret: the receiver could not tell the gateway from others. */
function createApprovalWebhook(url: string | undefined, secret: string | undefined, logger: Logger) {
  if (url === undefined) return { announce: () => undefined, close: async () => undefined }
  if (secret === undefined || secret.length < 16)
    throw new Error('webhook_url needs a secret of at least 16 characters: set APPROVAL_SECRET')
  const webhook = createSignedWebhook(url, secret)
  const closing = new AbortController()

  async function post(approval: Approval): Promise<void> {
    const body = JSON.stringify({ type: 'approval.requested', data: showApproval(approval, Date.now()) })
    for (const delayMs of [...RETRY_AFTER_MS, undefined]) {
      try {
        return await webhook.post(approval.id, body, closing.signal)
      } catch (error) {
        if (closing.signal.aborted) return
        const fields = { approval: approval.id, webhook: webhook.origin, error: errorMessage(error) }
        logger.warn(
          fields,
          delayMs === undefined ? 'approval not announced' : 'approval not announced; retrying',
        )
        if (delayMs !== undefined) await setTimeout(delayMs, undefined, { ref: false })
      }
    }
  }

  return {
    announce: (approval: Approval) => void post(approval),
    close() {
      closing.abort()
      return webhook.close()
    },
  }
}
