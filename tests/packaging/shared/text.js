export const TEXT = "Le port 8471 est libre 🎉, so the importer listens on 8471.";
