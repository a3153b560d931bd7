import {
  definePlugin,
  optional,
  type Static,
  StrictObject,
  settingsOf,
  Type,
} from '../../core/contract/index.ts'
import { ProcessServices } from '../../core/pipeline/process-services.ts'
import { createSecretRedactor } from '../../core/secrets/redact-secrets.ts'
import { GatewayState } from '../../projections/state.ts'
import { CircuitBreakers } from '../../providers/shared/circuit.ts'
import { Ledger } from '../ledger/index.ts'
import { ToolServerContacts, ToolServerState } from '../mcp/index.ts'
import { type OpenAlert, startAlerter } from './alerter.ts'
import { createConditions } from './conditions.ts'
import { createAlertEndpoints } from './endpoints.ts'
import { alertEvents } from './events.ts'
import { type AlertRow, type SmtpSettings, toAlert } from './settings.ts'
import { createTargets } from './targets.ts'

const alertOptions = StrictObject({
  check_seconds: Type.Integer({
    minimum: 1,
    maximum: 3600,
    default: 15,
    description: 'How often the conditions of alerts are checked.',
  }),
  retry_seconds: Type.Integer({
    minimum: 1,
    maximum: 3600,
    default: 30,
    description: 'After what time a failed message is sent again; doubles with each attempt, up to an hour.',
  }),
})

/** Tells webhooks, Slack and people by mail when something needs attention (docs/guides/alerts.md). */
export default definePlugin({
  name: 'alerts',
  after: ['auth'],
  options: alertOptions,
  events: alertEvents,
  uses: {
    state: GatewayState,
    process: ProcessServices,
    breakers: CircuitBreakers,
    ledger: Ledger,
    rows: settingsOf<readonly AlertRow[]>('alerts'),
    listed: settingsOf<Readonly<Record<string, unknown>>>('providers'),
    smtp: optional(settingsOf<SmtpSettings>('smtp')),
    secret: optional(settingsOf<string | null>('alert_secret')),
    password: optional(settingsOf<string | null>('smtp_password')),
    toolServers: optional(ToolServerState),
    contacts: optional(ToolServerContacts),
  },
  setup(options: Static<typeof alertOptions>, { use, events, store, logger }) {
    const { state, breakers, ledger, rows, smtp, toolServers, contacts } = use
    const secret = use.secret ?? undefined
    const smtpPassword = use.password ?? undefined
    const conditions = createConditions({
      ...{ ...state, breakers, ledger, toolServers, contacts, store },
      providers: Object.keys(use.listed),
    })
    const targets = createTargets({ secret, smtp, smtpPassword })
    const alerts = new Map<string, OpenAlert>()
    for (const row of rows) {
      const alert = toAlert(row, conditions)
      alerts.set(alert.name, { alert, targets: targets.create(alert.to) })
    }
    const alerter = startAlerter({
      ...{ alerts, events, store, logger },
      isPrimary: use.process.isPrimary,
      checkMs: options.check_seconds * 1000,
      retryMs: options.retry_seconds * 1000,
      redact: createSecretRedactor([secret, smtpPassword]).text,
    })
    return {
      endpoints: createAlertEndpoints({ alerts, state: events.state, alerter }),
      async close() {
        await alerter.close()
        await targets.close()
      },
    }
  },
})
