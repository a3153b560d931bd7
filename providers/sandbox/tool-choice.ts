import type { Question, ToolOffer } from './question.ts'

/**
 * The tools to call now, none for an answer in text. One is called when it has to be, or when the user asks for it:
 * by its name or with the word "tool". The word "parallel" makes two calls.
 */
export function chooseTools(question: Question): readonly ToolOffer[] {
  const candidates = findCandidates(question)
  const [first, second = first] = candidates
  if (!first || !second) return []
  const wantsTwo = question.mayCallInParallel && /parallel/i.test(question.userText)
  return wantsTwo ? [first, second] : [first]
}

function findCandidates(question: Question): readonly ToolOffer[] {
  switch (question.toolChoice) {
    case 'none':
      return []
    case 'required':
      return orderByMention(question)
    case 'auto':
      return asksForTool(question) ? orderByMention(question) : []
  }
}

function asksForTool({ tools, toolResults, userText }: Question): boolean {
  if (toolResults.length > 0) return false
  return /\btools?\b/i.test(userText) || tools.some(({ name }) => userText.includes(name))
}

/** The tools that the user names come first; otherwise they stay as listed. */
function orderByMention({ tools, userText }: Question): readonly ToolOffer[] {
  const isMentioned = ({ name }: ToolOffer) => userText.includes(name)
  return [...tools.filter(isMentioned), ...tools.filter((tool) => !isMentioned(tool))]
}
