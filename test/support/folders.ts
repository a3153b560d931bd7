import { existsSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { cp, mkdtemp } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'

const PREFIX = 'signalbox-test-'

const PARENT = chooseParent()

const folders: string[] = []

/** Creates an empty folder that is removed when this process exits. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(PARENT, `${PREFIX}${process.pid}-`))
  folders.push(folder)
  return folder
}

/** Copies a folder into a new one. */
export async function copyFolder(folder: string): Promise<string> {
  const copy = await makeFolder()
  await cp(folder, copy, { recursive: true })
  return copy
}

process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** The file system in memory, if it is large and programs may run there: a tenth of the time of a disk. */
function chooseParent(): string {
  const memory = '/dev/shm'
  try {
    const { bavail, bsize } = statfsSync(memory)
    const mounts = readFileSync('/proc/mounts', 'utf8')
    const isUsable = bavail * bsize > 4 * 2 ** 30 && !/^\S+ \/dev\/shm \S+ \S*noexec/m.test(mounts)
    if (process.env.TMPDIR || !isUsable) return os.tmpdir()
    // Processes that were killed left theirs.
    for (const name of readdirSync(memory)) {
      const [, pid] = name.match(`^${PREFIX}(\\d+)-`) ?? []
      if (pid && !existsSync(`/proc/${pid}`))
        rmSync(path.join(memory, name), { recursive: true, force: true })
    }
    return memory
  } catch {
    return os.tmpdir()
  }
}
