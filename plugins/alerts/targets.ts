import type { Transporter } from 'nodemailer'
import { isSecretReference, readSecretUrl } from '../../core/secrets/read-secret.ts'
import { createSignedWebhook, type SignedWebhook } from '../../providers/shared/signed-webhook.ts'
import { formatBody, formatLines, formatSlack, formatTitle, type Message } from './messages.ts'
import type { SmtpSettings, TargetRow } from './settings.ts'

/** Where messages are sent to. */
export interface Target {
  /** Names it in events and for operators. Holds no secret. */
  readonly label: string
  /** Rejects if the message was not accepted. */
  send(message: Message, signal: AbortSignal): Promise<void>
}

export interface TargetOptions {
  readonly secret: string | undefined
  readonly smtp: SmtpSettings | undefined
  readonly smtpPassword: string | undefined
}

export interface Targets {
  /** Creates the targets of an alert, with labels that differ. */
  create(rows: readonly TargetRow[]): readonly Target[]
  close(): Promise<void>
}

export function createTargets({ secret, smtp, smtpPassword }: TargetOptions): Targets {
  const webhooks = new Map<string, SignedWebhook>()
  const mailer = createMailer(smtp, smtpPassword)

  function webhookOf(url: string, key: string | undefined): SignedWebhook {
    const id = `${key === undefined} ${url}`
    const webhook = webhooks.get(id) ?? createSignedWebhook(url, key)
    webhooks.set(id, webhook)
    return webhook
  }

  function create({ webhook, slack, email }: TargetRow): Target {
    if (webhook !== undefined)
      return {
        label: `webhook ${isSecretReference(webhook) ? webhook : new URL(webhook).origin}`,
        send: async (message, signal) =>
          webhookOf(await readSecretUrl(webhook), secret).post(message.id, formatBody(message), signal),
      }
    if (slack !== undefined)
      return {
        label: `slack ${slack}`,
        send: async (message, signal) =>
          webhookOf(await readSecretUrl(slack), undefined).post(message.id, formatSlack(message), signal),
      }
    const address = email ?? ''
    return { label: `email ${address}`, send: (message) => mailer.send(address, message) }
  }

  return {
    create(rows) {
      const seen = new Map<string, number>()
      return rows.map(create).map((target) => {
        const count = (seen.get(target.label) ?? 0) + 1
        seen.set(target.label, count)
        return count === 1 ? target : { ...target, label: `${target.label} (${count})` }
      })
    },
    async close() {
      mailer.close()
      await Promise.all([...webhooks.values()].map((webhook) => webhook.close()))
    },
  }
}

const MAIL_TIMEOUT_MS = 10_000

/** Loads the library for mail when the first one is sent. */
function createMailer(smtp: SmtpSettings | undefined, password: string | undefined) {
  let opened: Promise<Transporter> | undefined

  async function open({ host, port, security = 'starttls', user }: SmtpSettings): Promise<Transporter> {
    const { createTransport } = await import('nodemailer')
    return createTransport({
      ...{ host, port: port ?? (security === 'tls' ? 465 : 587) },
      ...{ secure: security === 'tls', requireTLS: security === 'starttls', ignoreTLS: security === 'none' },
      ...(user !== undefined && { auth: { user, pass: password ?? '' } }),
      connectionTimeout: MAIL_TIMEOUT_MS,
      greetingTimeout: MAIL_TIMEOUT_MS,
      socketTimeout: MAIL_TIMEOUT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  }

  return {
    async send(to: string, message: Message): Promise<void> {
      if (smtp === undefined) throw new Error('the setting smtp is missing')
      opened ??= open(smtp)
      const transport = await opened
      await transport.sendMail({
        ...{ from: smtp.from, to, subject: formatTitle(message) },
        text: [...formatLines(message), '', `Condition: ${message.when}`, `Time: ${message.time}`].join('\n'),
        headers: { 'auto-submitted': 'auto-generated' },
        messageId: `<${message.id}@signalbox>`,
      })
    },
    close: () => void opened?.then((transport) => transport.close()).catch(() => undefined),
  }
}
