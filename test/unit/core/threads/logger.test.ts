import { execFileSync, spawnSync } from 'node:child_process'
import fs, { closeSync, createReadStream, openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { countDroppedLogLines, LogDestination } from '../../../../core/threads/log-destination.ts'
import { makeFolder } from '../../../support/folders.ts'
import { moduleUrl, NODE_OPTIONS, ROOT } from '../../../support/root.ts'
import { waitUntil } from '../../../support/wait.ts'

/** A log destination with a file. `chunks`: bytes per write; `untilLines` resolves with so many lines. */
async function openLogFile(isShared = false) {
  const file = path.join(await makeFolder(), 'log')
  const fd = openSync(file, 'w')
  const chunks: number[] = []
  const lines = new LogDestination(fd, {
    isShared,
    write: ((to: number, bytes: Buffer, ...rest: [number, number, null, () => void]) => {
      chunks.push(bytes.length)
      fs.write(to, bytes, ...rest)
    }) as typeof fs.write,
  })
  const read = () => readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return {
    lines,
    read,
    chunks,
    async untilLines(count: number) {
      await waitUntil(() => read().length >= count)
    },
    close: () => closeSync(fd),
  }
}

describe('the log destination', () => {
  it('writes a few lines without waiting for more', async () => {
    const { lines, read, untilLines, close } = await openLogFile()
    for (const line of ['one\n', 'two\n', 'three\n']) lines.write(line)
    await untilLines(3)
    expect(read()).to.deep.equal(['one', 'two', 'three'])
    close()
  })

  for (const isShared of [false, true]) {
    const suffix = isShared ? 'to a shared file' : 'to its own file'
    it(`writes many lines together, all of them and in order, ${suffix}`, async () => {
      const { lines, read, chunks, untilLines, close } = await openLogFile(isShared)
      const written = Array.from({ length: 2000 }, (_, n) => `line ${n} ${'x'.repeat(n % 300)}`)
      for (const [n, line] of written.entries()) {
        lines.write(`${line}\n`)
        // As requests end: some in every iteration of the event loop.
        if (n % 5 === 0) await setImmediate()
      }
      await untilLines(written.length)
      expect(read()).to.deep.equal(written)
      expect(chunks.length).to.be.below(written.length / 4)
      close()
    })
  }

  it('writes whole lines in chunks that a shared pipe does not split', async () => {
    const { lines, chunks, untilLines, close } = await openLogFile(true)
    for (let n = 0; n < 500; n++) lines.write(`${'x'.repeat(199)}\n`)
    await untilLines(500)
    expect(Math.max(...chunks)).to.be.within(200, 4096)
    expect(chunks.every((bytes) => bytes % 200 === 0)).to.equal(true)
    close()
  })

  it('measures chunks in bytes, not in characters', async () => {
    const { lines, chunks, untilLines, close } = await openLogFile(true)
    for (let n = 0; n < 100; n++) lines.write(`${'€'.repeat(199)}\n`)
    await untilLines(100)
    expect(Math.max(...chunks)).to.be.within(598, 4096)
    expect(chunks.every((bytes) => bytes % 598 === 0)).to.equal(true)
    close()
  })

  it('buffers lines for a slow reader up to the limit, then drops lines and reports how many', async () => {
    const pipe = path.join(await makeFolder(), 'pipe')
    execFileSync('mkfifo', [pipe])
    const fd = openSync(pipe, 'r+')
    let dropped = 0
    const lines = new LogDestination(fd, {
      isShared: false,
      maxBufferedBytes: 500_000,
      onDropped: (count) => {
        dropped += count
        lines.write('the end\n')
      },
    })
    for (let n = 0; n < 20_000; n++) lines.write(`${String(n).padStart(99)}\n`)
    let text = ''
    for await (const bytes of createReadStream(pipe, 'utf8')) {
      text += bytes
      if (text.endsWith('the end\n')) break
    }
    const numbers = text.split('\n').slice(0, -2).map(Number)
    expect(numbers).to.deep.equal(numbers.toSorted((one, other) => one - other))
    expect(numbers.length).to.be.within(5000, 7000)
    expect(dropped).to.equal(20_000 - numbers.length)
    closeSync(fd)
  })

  it('writes a line after a burst without further lines', async () => {
    const { lines, untilLines, close } = await openLogFile()
    for (let n = 0; n < 20; n++) lines.write(`${n}\n`)
    await untilLines(20)
    lines.write('after a burst\n')
    await untilLines(21)
    close()
  })
})

type WriteCallback = (error: NodeJS.ErrnoException | null, written: number) => void

/** A destination whose writes end as `next` says: with an error code, or after some of the bytes. */
function openFailingLog(next: () => string | number | undefined) {
  let text = ''
  const reports: { count: number; reason: string }[] = []
  const lines = new LogDestination(2, {
    isShared: false,
    onDropped: (count, reason) => reports.push({ count, reason }),
    write: ((_: number, bytes: Buffer, ...rest: [number, number, null, WriteCallback]) => {
      const end = rest[3]
      const outcome = next()
      const error = typeof outcome === 'string' ? Object.assign(new Error(outcome), { code: outcome }) : null
      const written = typeof outcome === 'number' ? Math.min(outcome, bytes.length) : bytes.length
      if (error === null) text += bytes.subarray(0, written)
      void setImmediate().then(() => end(error, written))
    }) as unknown as typeof fs.write,
  })
  const dropped = () => reports.reduce((sum, { count }) => sum + count, 0)
  return { lines, reports, dropped, text: () => text }
}

describe('a log that cannot be written', () => {
  for (const code of ['ENOSPC', 'EIO', 'EPIPE', 'EBADF', 'EFBIG', 'EDQUOT']) {
    it(`drops lines while writes fail with ${code}, and reports once how many`, async () => {
      const outcomes = [code, code]
      const before = countDroppedLogLines()
      const { lines, reports, text } = openFailingLog(() => outcomes.shift())
      for (const batch of ['one\ntwo\n', 'three\n', 'four\n', 'five\n']) {
        lines.write(batch)
        await lines.flush()
      }
      expect(text()).to.equal('four\nfive\n')
      expect(reports).to.deep.equal([{ count: 3, reason: code }])
      expect(countDroppedLogLines() - before).to.equal(3)
    })
  }

  it('ends a line that was written in part, so that the next one can be parsed', async () => {
    const outcomes = [4, 'ENOSPC', 'ENOSPC']
    const { lines, reports, text } = openFailingLog(() => outcomes.shift())
    for (const line of ['one\ntwo\n', 'three\n', 'four\n', 'five\n']) {
      lines.write(line)
      await lines.flush()
    }
    expect(text().split('\n')).to.deep.equal(['one', 'four', 'five', ''])
    expect(reports).to.deep.equal([{ count: 2, reason: 'ENOSPC' }])
    const later = [5, 'EIO']
    const torn = openFailingLog(() => later.shift())
    for (const line of ['one\ntwo\n', 'three\n']) {
      torn.lines.write(line)
      await torn.lines.flush()
    }
    expect(torn.text().split('\n')).to.deep.equal(['one', 't', 'three', ''])
    expect(torn.dropped()).to.equal(1)
  })

  it('waits for the reader of a non-blocking pipe, and drops nothing', async () => {
    const outcomes = ['EAGAIN', 'EAGAIN', 3]
    const { lines, text, dropped } = openFailingLog(() => outcomes.shift())
    lines.write('one\ntwo\n')
    await lines.flush()
    expect(text()).to.equal('one\ntwo\n')
    expect(dropped()).to.equal(0)
  })
})

describe('createLogger', () => {
  it('writes all lines before the process exits', () => {
    const module = moduleUrl('core/threads/logger').href
    const script = `import { createLogger } from '${module}'
      const logger = createLogger('info', { isShared: true, worker: 3 })
      for (let n = 0; n < 1000; n++) logger.info({ n, key: 'secret' }, 'line')
      process.exit(0)`
    const { stderr } = spawnSync(process.execPath, [...NODE_OPTIONS, '--input-type=module', '-e', script], {
      encoding: 'utf8',
      cwd: new URL('.', ROOT),
    })
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ n }) => n)).to.deep.equal(Array.from({ length: 1000 }, (_, n) => n))
    expect(lines[0]).to.include({ worker: 3, key: '[redacted]', msg: 'line' })
    expect(lines[0].time).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })
})
