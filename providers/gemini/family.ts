/** Whose rules a model follows: those of Gemini from 3 on, of Gemini up to 2.5, or of Gemma. */
export type Family = 'gemini' | 'gemini-2' | 'gemma'

/** A model's name tells its family; a name without a number, such as `gemini-flash-latest`, is a current one. */
export function readFamily(model: string): Family {
  if (model.startsWith('gemma')) return 'gemma'
  return /^gemini-[12]\b/.test(model) ? 'gemini-2' : 'gemini'
}
