import { execFileSync } from 'node:child_process'
import { closeSync, createReadStream, mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { openLogLines } from '../../../../core/process/log-writer.ts'

/** A file that lines go to; `writes` counts the writes, `whenAll` resolves when so many lines are there. */
function openFile(isShared = false) {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'log-lines-')), 'log')
  const fd = openSync(file, 'w')
  const lines = openLogLines(fd, { isShared })
  let writes = 0
  lines.on('write', () => {
    writes++
  })
  const read = () => readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return {
    lines,
    read,
    writes: () => writes,
    async whenAll(count: number) {
      while (read().length < count) await setImmediate()
    },
    close: () => closeSync(fd),
  }
}

describe('log lines', () => {
  it('are written at once while there are few', async function () {
    // On a busy machine even a write at once may take its time.
    this.retries(5)
    const { lines, read, whenAll, close } = openFile()
    const begun = performance.now()
    for (const line of ['one\n', 'two\n', 'three\n']) lines.write(line)
    await whenAll(3)
    expect(performance.now() - begun).to.be.below(15)
    expect(read()).to.deep.equal(['one', 'two', 'three'])
    close()
  })

  for (const isShared of [false, true]) {
    const where = isShared ? 'beside other processes' : 'alone'
    it(`are written together while there are many, all of them and in their order, ${where}`, async () => {
      const { lines, read, writes, whenAll, close } = openFile(isShared)
      const written = Array.from({ length: 2000 }, (_, n) => `line ${n} ${'x'.repeat(n % 300)}`)
      for (const [n, line] of written.entries()) {
        lines.write(`${line}\n`)
        // As requests end: some in every turn of the event loop.
        if (n % 5 === 0) await setImmediate()
      }
      await whenAll(written.length)
      expect(read()).to.deep.equal(written)
      expect(writes()).to.be.below(written.length / 4)
      close()
    })
  }

  it('are written in pieces that a pipe takes as a whole, where other processes write to it too', async () => {
    const { lines, whenAll, close } = openFile(true)
    const pieces: number[] = []
    lines.on('write', (bytes: number) => pieces.push(bytes))
    for (let n = 0; n < 500; n++) lines.write(`${'x'.repeat(199)}\n`)
    await whenAll(500)
    expect(Math.max(...pieces)).to.be.within(200, 4096)
    expect(pieces.every((bytes) => bytes % 200 === 0)).to.equal(true)
    close()
  })

  it('wait for a slow reader as far as there is room; then some are dropped, and it is told how many', async () => {
    const pipe = path.join(mkdtempSync(path.join(tmpdir(), 'log-lines-')), 'pipe')
    execFileSync('mkfifo', [pipe])
    const fd = openSync(pipe, 'r+')
    let dropped = 0
    const lines = openLogLines(fd, {
      isShared: false,
      mostBehind: 500_000,
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

  it('wait no longer than a moment for others', async () => {
    const { lines, whenAll, close } = openFile()
    for (let n = 0; n < 20; n++) lines.write(`${n}\n`)
    await whenAll(20)
    lines.write('after a burst\n')
    await whenAll(21)
    close()
  })
})
