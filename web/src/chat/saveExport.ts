// Saves an exported chat as a file of this device.
import { saveFile } from "../browser/saveFile";
import { type ExportFormat, exportChat } from "../state/acts";

export async function saveExport(chatId: string, format: ExportFormat): Promise<void> {
  const { file, name } = await exportChat(chatId, format);
  saveFile(file, name);
}
