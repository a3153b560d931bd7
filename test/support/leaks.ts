import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'

/** A place where nothing of a secret may stand. */
export interface Place {
  readonly name: string
  readonly bytes: Buffer
}

export const place = (name: string, text: string): Place => ({ name, bytes: Buffer.from(text) })

/** Every file in a folder, and in its folders. */
export async function readPlaces(folder: string): Promise<readonly Place[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
  return Promise.all(
    files.map(async (name) => ({ name: path.relative(folder, name), bytes: await readFile(name) })),
  )
}

/**
 * Which secrets stand where: as they are, as JSON or a URL writes them, in base64, or the better part of
 * them.
 */
export function findLeaks(
  secrets: Readonly<Record<string, string>>,
  places: readonly Place[],
): readonly string[] {
  return Object.entries(secrets).flatMap(([secret, text]) => {
    const forms = [...new Set([text, encodeURIComponent(text), ...inBase64(text), betterPart(text)])]
    return places
      .filter(({ bytes }) => forms.some((form) => bytes.includes(form)))
      .map(({ name }) => `${secret} in ${name}`)
  })
}

/** The middle of the text, at each of the places that base64 may begin at. */
function inBase64(text: string): readonly string[] {
  return [0, 1, 2].map((skipped) => Buffer.from(text.slice(skipped, -3)).toString('base64').slice(0, -4))
}

function betterPart(text: string): string {
  const quarter = Math.floor(text.length / 4)
  return text.slice(quarter, -quarter)
}
