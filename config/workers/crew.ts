import type { Logger } from 'pino'
import type { Service } from './messages.ts'
import { createPost, type Post } from './post.ts'
import type { WorkerProcess } from './worker-process.ts'

/** The workers of a primary. */
export interface Crew {
  /** Starts so many workers; resolves when all serve. Rejects when one cannot, for a reason that somebody can mend. */
  start(count: number): Promise<Service>
  /** Replaces one after the other, so that there are so many new ones. Rejects when one cannot start; the others go on. */
  renew(count: number): Promise<void>
  /** All that live, those that start or end included. */
  members(): readonly WorkerProcess[]
  /** Rejects when nobody serves and nobody can start. */
  readonly lost: Promise<never>
  isStopping(): boolean
  /** Lets all end with their running requests. */
  stop(): Promise<void>
}

export interface CrewOptions {
  /** Starts the process of a worker. */
  readonly hire: (number: number) => WorkerProcess
  /** How long a worker may take to end, in milliseconds, one that lingers too; then it is killed. */
  readonly endLimitMs: (lingers: boolean) => number
  /** Hears why a worker is replaced. */
  readonly noteRestart: (reason: 'died' | 'renewed') => void
  readonly logger: Logger
}

export function createCrew({ hire, endLimitMs, noteRestart, logger }: CrewOptions): Crew {
  const members = new Set<WorkerProcess>()
  const posts = new Map<number, Post>()
  const stopping = new AbortController()
  let hasStarted = false
  let giveUp: (error: Error) => void = () => undefined
  const lost = new Promise<never>((_, reject) => {
    giveUp = reject
  })
  lost.catch(() => undefined)

  function take(number: number): WorkerProcess {
    const worker = hire(number)
    members.add(worker)
    void worker.ended.then(() => members.delete(worker))
    worker.ready.then(
      () => logger.info({ worker: number, pid: worker.pid }, 'a worker serves'),
      () => undefined,
    )
    return worker
  }

  async function dismiss(worker: WorkerProcess, lingers: boolean): Promise<void> {
    const timer = setTimeout(() => {
      logger.error({ worker: worker.number, pid: worker.pid }, 'a worker does not end; it is killed')
      worker.kill()
    }, endLimitMs(lingers))
    await worker.ended
    clearTimeout(timer)
  }

  function postAt(number: number): Post {
    stopping.signal.throwIfAborted()
    const post = createPost({
      number,
      hire: take,
      dismiss,
      isAlone: () => !hasStarted || ![...members].some((worker) => worker.state() === 'serving'),
      giveUp,
      noteDeath: () => noteRestart('died'),
      logger,
    })
    posts.set(number, post)
    return post
  }

  return {
    async start(count) {
      // The first one alone: what is wrong with the settings is then said once, and a new log gets its first user from one.
      const service = await postAt(1).fill()
      await Promise.all(numbers(2, count).map((number) => postAt(number).fill()))
      hasStarted = true
      return service
    },
    async renew(count) {
      for (const number of numbers(1, count)) {
        stopping.signal.throwIfAborted()
        const post = posts.get(number)
        await (post ?? postAt(number)).renew()
        if (post) noteRestart('renewed')
      }
      for (const [number, post] of posts) {
        if (number <= count) continue
        posts.delete(number)
        await post.leave()
      }
    },
    members: () => [...members],
    lost,
    isStopping: () => stopping.signal.aborted,
    async stop() {
      stopping.abort()
      for (const post of posts.values()) post.close()
      const ending = [...members]
      for (const worker of ending) worker.stop()
      await Promise.all(ending.map((worker) => dismiss(worker, false)))
    },
  }
}

function numbers(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(to - from + 1, 0) }, (_, index) => from + index)
}
