import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from './root.ts'

const PROJECT = fileURLToPath(ROOT)

/** The top-level folders that hold the program, without its tests. */
export const SOURCE_FOLDERS = ['core', 'projections', 'providers', 'plugins', 'config'] as const

/** The files below a folder whose names end so, by path from the root of the project. */
export function listFiles(folder: string, extension: string): string[] {
  return readdirSync(path.join(PROJECT, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => path.posix.join(folder, name.split(path.sep).join('/')))
    .filter((file) => file.endsWith(extension) && !file.includes('/node_modules/'))
    .sort()
}

/** The text of a file, by its path from the root of the project. */
export function readSource(file: string): string {
  return readFileSync(path.join(PROJECT, file), 'utf8')
}

/** Whether there is such a file or folder, by its path from the root of the project. */
export function exists(file: string): boolean {
  return existsSync(path.join(PROJECT, file))
}
