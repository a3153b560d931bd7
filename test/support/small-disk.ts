import { execFileSync } from 'node:child_process'
import { rm, statfs, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import type { Context } from 'mocha'
import { makeFolder } from './folders.ts'
import { skip } from './skip.ts'

/** A file system of its own, in memory, that a test can fill. */
export interface SmallDisk {
  readonly folder: string
  /** Fills the remaining space. */
  fill(): Promise<void>
  /** Removes the filler. */
  free(): Promise<void>
  unmount(): void
}

/** Mounts a small disk. Skips the test, or the suite of a hook, where mounting is not permitted. */
export async function mountSmallDisk(context: Context, megabytes: number): Promise<SmallDisk> {
  const folder = await makeFolder()
  const filler = path.join(folder, 'filler')
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    skip(context, 'mounting a file system is not permitted')
  }
  return {
    folder,
    async fill() {
      const { bavail, bsize } = await statfs(folder)
      // Another file may take the space first; then the disk is full, too.
      await writeFile(filler, Buffer.alloc(bavail * bsize)).catch(({ code }) =>
        expect(code).to.equal('ENOSPC'),
      )
    },
    free: () => rm(filler, { force: true }),
    unmount: () => void execFileSync('umount', [folder]),
  }
}
