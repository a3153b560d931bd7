import { readSource } from './source-files.ts'

/** The headings of a page of the documentation, without markup. */
export function headingsOf(page: string): readonly string[] {
  return [...withoutCode(readSource(page)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .replace(/[`*]/g, '')
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim(),
  )
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(page: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  for (const heading of headingsOf(page)) {
    const anchor = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-')
    let count = 0
    while (anchors.has(count === 0 ? anchor : `${anchor}-${count}`)) count += 1
    anchors.add(count === 0 ? anchor : `${anchor}-${count}`)
  }
  return anchors
}

/** The targets of a page's links, inline and by reference, that do not lead to another host. */
export function relativeLinksOf(page: string): readonly string[] {
  const text = withoutCode(readSource(page)).replace(/`[^`\n]*`/g, '')
  const links = text.matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)/gm)
  return [...links].map(([, inline, reference]) => inline ?? reference ?? '').filter(isRelative)
}

function isRelative(link: string): boolean {
  return !/^[a-z]+:/.test(link)
}

/** Fenced blocks may hold lines that look like headings or links. */
function withoutCode(text: string): string {
  return text.replace(/^( *)```[\s\S]*?^\1```/gm, '')
}
