import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Admin, Consumer, type Message, MessagesStreamModes, stringDeserializers } from '@platformatic/kafka'
import type { Context } from 'mocha'
import { makeFolder } from './folders.ts'
import { findPort } from './redis.ts'
import { ROOT } from './root.ts'
import { skip } from './skip.ts'
import { waitUntil } from './wait.ts'

/** Where `.ci/kafka` puts it. */
const LIBRARIES = fileURLToPath(new URL('node_modules/.cache/kafka/libs', ROOT))

/** A broker of its own, which is its own controller. */
export interface RunningKafka {
  /** `host:port` */
  readonly broker: string
  createTopic(topic: string, partitions: number): Promise<void>
  /** Reads so many messages of a topic from its beginning. */
  read(topic: string, count: number): Promise<readonly Message<string, string, string, string>[]>
  kill(): Promise<void>
  /** Starts the broker again with the same data. */
  restart(): Promise<void>
}

/** Starts a broker, or skips the suite if it was not fetched; fails instead if CI is set. */
export async function requireKafka(context: Context): Promise<RunningKafka> {
  if (existsSync(LIBRARIES)) return startKafka()
  if (process.env.CI) throw new Error('Kafka was not fetched by .ci/kafka, and is required in CI')
  return skip(context, 'Kafka was not fetched: run .ci/kafka, which needs Java 17 and Maven')
}

const java = (main: string, ...args: readonly string[]) => [
  ...['-Xmx512m', '-cp', `${LIBRARIES}/*`, main],
  ...args,
]

async function startKafka(): Promise<RunningKafka> {
  const folder = await makeFolder()
  const [port, controller] = [await findPort(), await findPort()]
  const broker = `127.0.0.1:${port}`
  const settings = path.join(folder, 'server.properties')
  const lines = [
    ...['process.roles=broker,controller', 'node.id=1', `log.dirs=${folder}/logs`],
    `listeners=PLAINTEXT://${broker},CONTROLLER://127.0.0.1:${controller}`,
    ...[
      'controller.listener.names=CONTROLLER',
      `controller.quorum.bootstrap.servers=127.0.0.1:${controller}`,
    ],
    ...['auto.create.topics.enable=false', 'offsets.topic.replication.factor=1'],
    'group.initial.rebalance.delay.ms=0',
  ]
  await writeFile(settings, lines.join('\n'))
  const format = java('kafka.tools.StorageTool', 'format', '--standalone', '-t', 'c2lnbmFsYm94LXRlc3Rz')
  await promisify(execFile)('java', [...format, '-c', settings])

  const options = { clientId: 'test', bootstrapBrokers: [broker], retries: 0, connectTimeout: 1000 }
  const withAdmin = async <Result>(use: (admin: Admin) => Promise<Result>): Promise<Result> => {
    const admin = new Admin(options)
    return use(admin).finally(() => admin.close())
  }

  let server: ChildProcess
  async function start(): Promise<void> {
    const started = spawn('java', java('kafka.Kafka', settings), { stdio: 'ignore' })
    server = started
    process.once('exit', () => started.kill('SIGKILL'))
    const isReady = () =>
      withAdmin((admin) => admin.metadata({ topics: [] })).then(
        () => true,
        () => false,
      )
    await waitUntil(async () => started.exitCode !== null || (await isReady()))
    if (started.exitCode !== null) throw new Error(`Kafka ended with ${started.exitCode} while it started`)
  }

  await start()
  return {
    broker,
    createTopic: (topic, partitions) =>
      withAdmin(async (admin) => void (await admin.createTopics({ topics: [topic], partitions }))),
    async read(topic, count) {
      const consumer = new Consumer({
        ...options,
        ...{
          groupId: `test-${Math.random()}`,
          deserializers: stringDeserializers,
          retries: 30,
          retryDelay: 500,
        },
      })
      const stream = await consumer.consume({ topics: [topic], mode: MessagesStreamModes.EARLIEST })
      const messages: Message<string, string, string, string>[] = []
      try {
        for await (const message of stream) if (messages.push(message) >= count) break
      } finally {
        await consumer.close(true)
      }
      return messages
    },
    async kill() {
      server.kill('SIGKILL')
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
    },
    restart: start,
  }
}
