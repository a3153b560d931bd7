import { readNeededSecret } from '../../../core/secrets/read-secret.ts'
import { lazyClient } from './s3-target.ts'
import { divideLines, type ExportTargetKind } from './target.ts'

interface KafkaRow {
  /** `host:port` */
  readonly brokers: readonly string[]
  readonly topic: string
  readonly tls?: boolean
  readonly sasl?: {
    readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'
    readonly user: string
    /** `env:NAME` or `file:PATH`. */
    readonly password: string
  }
}

/** Less than a broker takes by default, which is 1 MB. */
const MAX_BATCH_CHARS = 500_000

const TIMEOUT_MS = 30_000

/** Sends a message per record. Those of a user have the same key, and so stay in order. */
export const kafkaTarget: ExportTargetKind<KafkaRow> = {
  pageRecords: 500,
  pageSeconds: 1,
  open({ brokers, topic, tls, sasl }) {
    const opened = lazyClient(async () => {
      const { Producer, stringSerializers } = await import('@platformatic/kafka')
      return new Producer({
        clientId: 'signalbox',
        bootstrapBrokers: [...brokers],
        serializers: stringSerializers,
        acks: -1,
        autocreateTopics: false,
        // The exporter itself tries again.
        retries: 0,
        connectTimeout: 5000,
        requestTimeout: TIMEOUT_MS,
        ...(tls === true && { tls: {} }),
        ...(sasl && {
          sasl: {
            mechanism: MECHANISMS[sasl.mechanism],
            username: sasl.user,
            password: () => readNeededSecret(sasl.password),
          },
        }),
      })
    })

    return {
      async send(page, signal) {
        const producer = await opened.get()
        for await (const all of page.read())
          for (const { records, lines } of divideLines(all, MAX_BATCH_CHARS)) {
            signal.throwIfAborted()
            const messages = records.map(({ fields, kind }, index) => ({
              ...{ topic, key: String(fields.user_id), value: lines[index] ?? '', headers: { kind } },
            }))
            await producer.send({ messages })
          }
        return 0
      },
      close: () => opened.close((producer) => producer.close(true)),
    }
  },
}

const MECHANISMS = {
  plain: 'PLAIN',
  'scram-sha-256': 'SCRAM-SHA-256',
  'scram-sha-512': 'SCRAM-SHA-512',
} as const
