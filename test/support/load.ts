import OpenAI from 'openai'

/** What became of the requests of a load. */
export interface Tally {
  /** Requests that were let run to their end. */
  sent: number
  /** Errors of requests whose stream had not begun. */
  readonly failed: string[]
  /** Streams that broke off after they had begun, with an error record. */
  broken: number
  /** Streams that ended without a finish and without an error. */
  silent: number
  /** No end within `PATIENCE_MS`. */
  hung: number
  /** Answers whose parts name different models or providers. */
  readonly mixed: string[]
}

export interface Load {
  /** Stops sending, and resolves when every request has ended. */
  stop(): Promise<Tally>
}

/** Far longer than anything the gateway waits for in a test. */
const PATIENCE_MS = 60_000

/** More would only wait for each other on a slow machine, longer than its providers may take. */
const MAX_IN_FLIGHT = 32

/**
 * Sends requests at a steady pace, or as fast as they are answered, whole and streamed by turns; every tenth
 * client leaves early.
 */
export function startLoad(client: OpenAI, providerOf: ReadonlyMap<string, string>, everyMs: number): Load {
  const tally: Tally = { sent: 0, failed: [], broken: 0, silent: 0, hung: 0, mixed: [] }
  const running = new Set<Promise<void>>()
  let number = 0

  const timer = setInterval(() => {
    if (running.size >= MAX_IN_FLIGHT) return
    number++
    const run = number % 10 === 0 ? leave() : number % 2 === 0 ? askWhole() : askStreamed()
    const done = run.finally(() => running.delete(done))
    running.add(done)
  }, everyMs)

  const body = () => ({
    model: 'auto:balance',
    messages: [{ role: 'user' as const, content: `Request ${number}` }],
  })

  async function askWhole(): Promise<void> {
    tally.sent++
    const signal = AbortSignal.timeout(PATIENCE_MS)
    try {
      const completion = await client.chat.completions.create(body(), { signal })
      check(completion.choices[0]?.message.content ?? '', completion, completion)
    } catch (error) {
      note(error, signal, false)
    }
  }

  async function askStreamed(): Promise<void> {
    tally.sent++
    const signal = AbortSignal.timeout(PATIENCE_MS)
    let begun = false
    try {
      const stream = await client.chat.completions.create({ ...body(), stream: true }, { signal })
      begun = true
      let text = ''
      let finish: string | null | undefined
      let [first, last]: (OpenAI.ChatCompletionChunk | undefined)[] = []
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        finish = chunk.choices[0]?.finish_reason ?? finish
        first ??= chunk
        last = chunk
      }
      if (first && last && finish) check(text, first, last)
      else tally.silent++
    } catch (error) {
      note(error, signal, begun)
    }
  }

  async function leave(): Promise<void> {
    const signal = AbortSignal.timeout(2)
    await client.chat.completions.create({ ...body(), stream: true }, { signal }).catch(() => {})
  }

  function note(error: unknown, signal: AbortSignal, begun: boolean): void {
    if (signal.aborted) tally.hung++
    else if (begun && error instanceof OpenAI.APIError) tally.broken++
    else tally.failed.push(String(error))
  }

  /** The sandbox says as whom it answers; the extension fields on both ends must say the same. */
  function check(text: string, first: { model: string }, last: { model: string }): void {
    const said = text.match(/answering as (\S+)\.$/)?.[1] ?? `nobody in "${text}"`
    const names = [first, last].flatMap((record) => [
      providerOf.get(record.model),
      (record as { provider?: string }).provider,
    ])
    const isOne = first.model === said && last.model === said && new Set(names).size === 1
    if (!isOne) tally.mixed.push(`${said}: ${first.model}, ${last.model}, ${names}`)
  }

  return {
    async stop() {
      clearInterval(timer)
      await Promise.all(running)
      return tally
    },
  }
}
