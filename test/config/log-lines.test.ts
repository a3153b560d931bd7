import { closeSync, mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { openLogLines } from '../../config/log-lines.ts'

/** A file that lines go to; `writes` counts the writes, `whenAll` resolves when so many lines are there. */
function openFile() {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'log-lines-')), 'log')
  const fd = openSync(file, 'w')
  const lines = openLogLines(fd)
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

  it('are written together while there are many, all of them and in their order', async () => {
    const { lines, read, writes, whenAll, close } = openFile()
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

  it('wait no longer than a moment for others', async () => {
    const { lines, whenAll, close } = openFile()
    for (let n = 0; n < 20; n++) lines.write(`${n}\n`)
    await whenAll(20)
    lines.write('after a burst\n')
    await whenAll(21)
    close()
  })
})
