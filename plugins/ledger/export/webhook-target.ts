import { readSecretUrl } from '../../../core/secrets/read-secret.ts'
import { createSignedWebhook, type SignedWebhook } from '../../../providers/shared/signed-webhook.ts'
import { divideLines, type ExportTargetKind } from './target.ts'

interface WebhookRow {
  /** A URL, `env:NAME` or `file:PATH`. */
  readonly url: string
}

const MAX_BODY_CHARS = 1_000_000

/** Posts records with a signature. What is posted again has the same id if it has the same records. */
export const webhookTarget: ExportTargetKind<WebhookRow> = {
  pageRecords: 500,
  pageSeconds: 1,
  open({ name, url: reference }, { secret }) {
    const webhooks = new Map<string, SignedWebhook>()

    async function findWebhook(): Promise<SignedWebhook> {
      const url = await readSecretUrl(reference)
      const webhook = webhooks.get(url) ?? createSignedWebhook(url, secret)
      webhooks.set(url, webhook)
      return webhook
    }

    return {
      async send(page, signal) {
        const webhook = await findWebhook()
        for await (const all of page.read())
          for (const { records, lines } of divideLines(all, MAX_BODY_CHARS)) {
            const [first, last] = [records[0], records.at(-1)]
            if (first === undefined || last === undefined) continue
            const time = new Date(last.writtenAt).toISOString()
            const head = `{"type":"ledger.records","timestamp":"${time}","data":{"export":"${name}"`
            const body = `${head},"first":${first.number},"last":${last.number},"records":[${lines.join()}]}}`
            await webhook.post(`${name}.${first.number}-${last.number}`, body, signal)
          }
        return 0
      },
      close: async () => void (await Promise.all([...webhooks.values()].map((webhook) => webhook.close()))),
    }
  },
}
